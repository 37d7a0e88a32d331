import 'reflect-metadata';
import { Server } from '@grpc/grpc-js';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { klockMicroservice } from 'klock/server';
import { heapBytes, residentBytes, serve } from '../children/serve.js';

@Module({})
class LockServerModule {}

/** The server of the original has no channel: it answers UNIMPLEMENTED, and clients speak the six RPCs. */
function hideChannel(): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with the server as `this` below
  const addService = Server.prototype.addService;
  Server.prototype.addService = function (service, implementation) {
    const { Channel: _, ...others } = service;
    return addService.call(this, others, implementation);
  };
}

serve({
  start: async () => {
    if (process.argv.includes('--six-rpc')) hideChannel();
    const locks = klockMicroservice({
      address: '127.0.0.1:0',
      rateLimit: false,
      firstStart: true,
      production: false,
    });
    const app = await NestFactory.createMicroservice(LockServerModule, { strategy: locks, logger: false });
    await app.listen();
    return locks.address;
  },
  heap: heapBytes,
  resident: residentBytes,
});
