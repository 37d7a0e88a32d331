import type { DynamicModule, INestApplicationContext, Type } from '@nestjs/common';
import { peer } from './peers.js';

interface NestCommon {
  readonly Injectable: () => ClassDecorator;
  readonly Module: (options: { imports: DynamicModule[]; providers: Type[] }) => ClassDecorator;
}
interface NestCore {
  readonly NestFactory: {
    createApplicationContext(module: Type, options: { logger: false }): Promise<INestApplicationContext>;
  };
}

/** An application of the peers' own Nest with one module of theirs and one service. */
export async function nestApp(imported: DynamicModule, service: Type): Promise<INestApplicationContext> {
  const { Injectable, Module } = peer<NestCommon>('@nestjs/common');
  const { NestFactory } = peer<NestCore>('@nestjs/core');
  Injectable()(service);
  class App {}
  Module({ imports: [imported], providers: [service] })(App);
  return await NestFactory.createApplicationContext(App, { logger: false });
}
