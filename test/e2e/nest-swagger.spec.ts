/* eslint-disable @typescript-eslint/require-await -- decorated methods are async, awaiting or not */
import { Body, Controller, Get, HttpCode, Module, Param, Post, Query, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ApiOperation, ApiProperty, ApiResponse, DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { CurrentLock, KlockModule, Locked, type LockHandle } from 'klock';

class Order {
  @ApiProperty({ description: 'which one' })
  id!: string;
  @ApiProperty({ required: false })
  note?: string;
}

@Controller('orders')
class Plain {
  @Get(':id')
  @ApiOperation({ summary: 'One order' })
  @ApiResponse({ status: 200, type: Order })
  async get(@Param('id') id: string, @Query('deep') _deep?: number): Promise<Order> {
    return { id };
  }
  @Post()
  @HttpCode(202)
  @ApiOperation({ summary: 'Place an order', operationId: 'place' })
  async place(@Body() order: Order): Promise<Order> {
    return order;
  }
}

@Controller('orders')
class LockedBelow {
  @Get(':id')
  @ApiOperation({ summary: 'One order' })
  @ApiResponse({ status: 200, type: Order })
  @Locked('order:{0}')
  async get(
    @Param('id') id: string,
    @Query('deep') _deep?: number,
    @CurrentLock() _lock?: LockHandle,
  ): Promise<Order> {
    return { id };
  }
  @Post()
  @HttpCode(202)
  @ApiOperation({ summary: 'Place an order', operationId: 'place' })
  @Locked('order:{0.id}')
  async place(@Body() order: Order): Promise<Order> {
    return order;
  }
}

@Controller('orders')
class LockedAbove {
  @Locked('order:{0}')
  @Get(':id')
  @ApiOperation({ summary: 'One order' })
  @ApiResponse({ status: 200, type: Order })
  async get(@Param('id') id: string, @Query('deep') _deep?: number): Promise<Order> {
    return { id };
  }
  @Locked('order:{0.id}')
  @Post()
  @HttpCode(202)
  @ApiOperation({ summary: 'Place an order', operationId: 'place' })
  async place(@Body() order: Order): Promise<Order> {
    return order;
  }
}

async function documentOf(controller: Type): Promise<string> {
  @Module({ imports: [KlockModule.forRoot({ driver: 'memory' })], controllers: [controller] })
  class App {}
  const app = await NestFactory.create(App, { logger: false });
  const document = SwaggerModule.createDocument(app, new DocumentBuilder().build());
  await app.close();
  return JSON.stringify(document, null, 1).replaceAll(controller.name, 'Controller');
}

describe('the OpenAPI document of a controller', () => {
  it.each([
    ['below', LockedBelow],
    ['above', LockedAbove],
  ])(
    '[B-068] [peers 1] is that of its undecorated twin with @Locked %s the other decorators',
    async (_, controller) => {
      const plain = await documentOf(Plain);
      expect(plain).toContain('Place an order');
      expect(await documentOf(controller)).toBe(plain);
    },
  );
});
