// What test/e2e/nest-shutdown.spec.ts starts: an application without decorator syntax, over a lock server.
// Arguments: `hooks` or `plain` (shutdown hooks or not), the server's url.
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CurrentLock, KlockModule, Locked } from 'klock';
import { emit, serve } from '../support/child-side.mjs';

const [mode, url] = process.argv.slice(2);

class Service {
  async body(ms, lock) {
    emit('inside');
    await new Promise((resolve) => setTimeout(resolve, ms));
    emit('finished', lock.held);
  }
}
const decorate = (target, name, decorator) => {
  const descriptor = Object.getOwnPropertyDescriptor(target, name);
  decorator(target, name, descriptor);
  Object.defineProperty(target, name, descriptor);
};
CurrentLock()(Service.prototype, 'body', 1);
decorate(Service.prototype, 'body', Locked('body'));
Injectable()(Service);

class App {}
Module({ imports: [KlockModule.forRoot({ url, ttlMs: 1_000 })], providers: [Service] })(App);

const app = await NestFactory.createApplicationContext(App, { logger: false });
if (mode === 'hooks') app.enableShutdownHooks();

serve({ body: (ms) => app.get(Service).body(ms), exit: () => process.exit(0) });
