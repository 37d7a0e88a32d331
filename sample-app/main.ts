import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { reportReady } from './process/parent.js';
import { portFrom } from './process/environment.js';
import { ReplicaModule } from './replica.module.js';

// One replica of the booking service. Start as many as you like: the stock is guarded by the lock, not by this process.
const app = await NestFactory.create(ReplicaModule);
// On SIGTERM: no new requests, running sections end, held locks are released, connections close.
app.enableShutdownHooks();
await app.listen(portFrom(process.env), '127.0.0.1');

reportReady(await app.getUrl());
