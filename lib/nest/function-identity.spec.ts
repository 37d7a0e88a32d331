/* eslint-disable @typescript-eslint/require-await, @typescript-eslint/unbound-method -- methods are looked at, not called */
import { OnWorkerEvent } from '@nestjs/bullmq';
import {
  Get,
  Header,
  HttpCode,
  Param,
  ParseIntPipe,
  Post,
  SetMetadata,
  Sse,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  type CanActivate,
} from '@nestjs/common';
import { OnEvent } from '@nestjs/event-emitter';
import {
  EventPattern,
  GrpcMethod,
  GrpcStreamCall,
  GrpcStreamMethod,
  MessagePattern,
} from '@nestjs/microservices';
import { Cron, Interval, Timeout } from '@nestjs/schedule';
import { ApiBody, ApiOperation, ApiParam, ApiResponse } from '@nestjs/swagger';
import { SubscribeMessage } from '@nestjs/websockets';
import { KlockExceptionFilter } from './klock-exception.filter.js';
import { KlockInterceptor } from './klock.interceptor.js';
import { Locked } from './locked.decorator.js';

class Guard implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

/** Decorators of Nest and its packages that write on the method. */
const OTHERS: Record<string, () => MethodDecorator> = {
  Get: () => Get('path/:id'),
  Post: () => Post(['a', 'b']),
  HttpCode: () => HttpCode(202),
  SetMetadata: () => SetMetadata('custom', { deep: [1] }),
  UseGuards: () => UseGuards(Guard),
  MessagePattern: () => MessagePattern({ cmd: 'x' }),
  EventPattern: () => EventPattern('happened') as MethodDecorator,
  GrpcMethod: () => GrpcMethod('Service', 'Method'),
  Cron: () => Cron('* * * * * *', { name: 'job' }),
  Interval: () => Interval('tick', 500),
  Timeout: () => Timeout('once', 500),
  GrpcStreamMethod: () => GrpcStreamMethod('Service', 'Method'),
  GrpcStreamCall: () => GrpcStreamCall('Service', 'Method'),
  SubscribeMessage: () => SubscribeMessage('place'),
  Sse: () => Sse('events'),
  Header: () => Header('x-kind', 'mine'),
  UseInterceptors: () => UseInterceptors(KlockInterceptor),
  UseFilters: () => UseFilters(KlockExceptionFilter),
  UsePipes: () => UsePipes(ParseIntPipe),
  OnEvent: () => OnEvent('happened', { async: true }),
  OnWorkerEvent: () => OnWorkerEvent('completed'),
  ApiOperation: () => ApiOperation({ summary: 'closes' }),
  ApiParam: () => ApiParam({ name: 'id', type: Number }),
  ApiBody: () => ApiBody({ type: Guard }),
  ApiResponse: () => ApiResponse({ status: 423, description: 'busy' }),
  // As some packages do: a property on the function itself.
  property: () => (_target, _name, descriptor) =>
    void Object.assign(descriptor.value as object, { tag: 'mine' }),
};

type Method = (...args: unknown[]) => unknown;

function describeMethod(prototype: object): unknown {
  const method = (prototype as { method: Method }).method;
  return {
    name: method.name,
    length: method.length,
    properties: Object.keys(method).map((key) => [key, (method as unknown as Record<string, unknown>)[key]]),
    metadata: Reflect.getMetadataKeys(method).map((key: unknown) => [
      key,
      Reflect.getMetadata(key, method) as unknown,
    ]),
    own: new Set(Reflect.getOwnMetadataKeys(method)),
    types: Reflect.getMetadataKeys(prototype, 'method').map((key: unknown) => [
      key,
      Reflect.getMetadata(key, prototype, 'method') as unknown,
    ]),
  };
}

describe('the wrapper', () => {
  it.each(Object.keys(OTHERS))(
    '[B-068] has the name, length, properties and metadata of its undecorated twin with @%s in either order',
    (name) => {
      const other = OTHERS[name] as () => MethodDecorator;
      const class_ = (...decorators: MethodDecorator[]): object => {
        class Controller {
          async method(@Param('id') id: string, more: number): Promise<unknown> {
            return [id, more];
          }
        }
        const descriptor = Object.getOwnPropertyDescriptor(
          Controller.prototype,
          'method',
        ) as PropertyDescriptor;
        for (const decorator of decorators.reverse()) decorator(Controller.prototype, 'method', descriptor);
        Object.defineProperty(Controller.prototype, 'method', descriptor);
        return Controller.prototype;
      };
      const locked = Locked('k') as unknown as MethodDecorator;
      const twin = describeMethod(class_(other()));
      expect(describeMethod(class_(locked, other()))).toEqual(twin);
      expect(describeMethod(class_(other(), locked))).toEqual(twin);
      expect(describeMethod(class_(other(), locked, other()))).toEqual(
        describeMethod(class_(other(), other())),
      );
    },
  );

  it('[B-068] shows metadata that is written later, on the wrapper or on the method below it', () => {
    class Service {
      async m(): Promise<void> {}
    }
    const below = Service.prototype.m;
    const descriptor = Object.getOwnPropertyDescriptor(Service.prototype, 'm') as TypedPropertyDescriptor<
      () => Promise<void>
    >;
    Locked('k')(Service.prototype, 'm', descriptor);
    Object.defineProperty(Service.prototype, 'm', descriptor);
    Reflect.defineMetadata('on-method', 1, below);
    Reflect.defineMetadata('on-wrapper', 2, Service.prototype.m);
    expect(Service.prototype.m).not.toBe(below);
    expect(Reflect.getMetadata('on-method', Service.prototype.m)).toBe(1);
    expect(Reflect.getMetadata('on-wrapper', Service.prototype.m)).toBe(2);
  });

  it('[B-068] is made without reflect-metadata too', () => {
    const { getOwnMetadataKeys } = Reflect;
    try {
      Object.assign(Reflect, { getOwnMetadataKeys: undefined });
      class Service {
        @Locked('k')
        async m(_a: number): Promise<void> {}
      }
      expect(Service.prototype.m).toHaveLength(1);
    } finally {
      Object.assign(Reflect, { getOwnMetadataKeys });
    }
  });
});
