import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { KlockModule } from 'klock';

// Bundled without the package that speaks gRPC: the start must fail, and say what is not there.
@Module({ imports: [KlockModule.forRoot({ url: 'klock://127.0.0.1:1' })] })
class App {}

void NestFactory.createApplicationContext(App, { logger: ['error'] }).then(() => console.log('started'));
