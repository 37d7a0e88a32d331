import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { klockMicroservice, serverOptionsFromEnv } from 'klock/server';
import { reportReady } from '../process/parent.js';

@Module({})
class LockServerModule {}

// The bundled lock server, run as any Nest microservice. Its settings are the LOCK_SERVER_* variables.
const locks = klockMicroservice(serverOptionsFromEnv(process.env));
const app = await NestFactory.createMicroservice(LockServerModule, locks);
app.enableShutdownHooks();
await app.listen();

reportReady(`klock://${locks.address}`);
