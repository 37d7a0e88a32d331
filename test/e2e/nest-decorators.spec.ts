// @Locked among the other decorators of handlers, above and below them, beside an undecorated twin, over HTTP.
/* eslint-disable @typescript-eslint/require-await -- decorated methods are async, awaiting or not */
import {
  Body,
  Catch,
  Controller,
  Delete,
  Get,
  Header,
  Headers,
  HttpCode,
  Inject,
  Injectable,
  Ip,
  Module,
  Param,
  ParseIntPipe,
  Patch,
  Post,
  Put,
  Query,
  Redirect,
  Scope,
  SetMetadata,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  applyDecorators,
  createParamDecorator,
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
  type PipeTransform,
} from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, NestFactory, REQUEST, Reflector } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { map, type Observable } from 'rxjs';
import {
  CurrentFence,
  CurrentLock,
  KlockExceptionFilter,
  KlockInterceptor,
  KlockModule,
  Locked,
  getKlockToken,
  lockSlot,
  type Klock,
  type KlockSlot,
  type LockHandle,
} from 'klock';
import { klockDriver } from 'klock/client';
import { createKlock } from 'klock/core';
import { LockServer } from 'klock/server';

const Kind = (kind: string): MethodDecorator => SetMetadata('kind', kind);
const Seen = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  String(
    (context.switchToHttp().getRequest<{ klock?: KlockSlot }>().klock ?? { granted: [] }).granted.length,
  ),
);

@Injectable()
class KindGuard implements CanActivate {
  constructor(@Inject(Reflector) private readonly reflector: Reflector) {}
  canActivate(context: ExecutionContext): boolean {
    return this.reflector.get<string>('kind', context.getHandler()) !== 'closed';
  }
}
/** Adds what it sees of the handler and, once that is done, of its lock. */
@Injectable()
class Naming implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { name, length } = context.getHandler();
    const before = lockSlot(context)?.granted.length;
    return next.handle().pipe(
      map((body: unknown) => ({
        name,
        length,
        body,
        granted: [before, lockSlot(context)?.granted.length],
      })),
    );
  }
}
class Doubling implements PipeTransform {
  transform(value: unknown): unknown {
    return typeof value === 'number' ? value * 2 : value;
  }
}
@Catch(RangeError)
class Teapot implements ExceptionFilter {
  catch(error: RangeError, host: ArgumentsHost): void {
    host
      .switchToHttp()
      .getResponse<{ status(code: number): { send(body: unknown): void } }>()
      .status(418)
      .send(error.message);
  }
}

/** What is tried, as one decorator: with none of ours, with ours above all of it, and below. */
const WITH: Record<string, (...decorators: MethodDecorator[]) => MethodDecorator> = {
  twin: (...others) => applyDecorators(...others),
  above: (...others) => applyDecorators(LOCKED, ...others),
  below: (...others) => applyDecorators(...others, LOCKED),
};
const LOCKED = Locked('d:{0}', { waitMs: 0 }) as unknown as MethodDecorator;

function controllerOf(place: string): new () => object {
  const of = WITH[place]!;
  @Controller(place)
  class Handlers {
    @of(Get('get/:id'), Header('x-mine', 'yes'), HttpCode(206))
    async get(
      @Param('id', ParseIntPipe) id: number,
      @Query('q') q: string,
      @Seen() seen: string,
    ): Promise<unknown> {
      return [id, q, seen];
    }
    @of(
      Post(['post/:id', 'also/:id']),
      UsePipes(Doubling),
      UseInterceptors(Naming),
      Kind('open'),
      UseGuards(KindGuard),
    )
    async post(
      @Param('id', ParseIntPipe) id: number,
      @Body() body: object,
      @Headers('x-ask') ask: string,
    ): Promise<unknown> {
      return [id, body, ask];
    }
    @of(Put('put/:id'), UseGuards(KindGuard), Kind('closed'))
    async put(@Param('id') id: string): Promise<string> {
      return id;
    }
    @of(Patch('patch/:id'), UseFilters(Teapot))
    async patch(@Param('id') id: string): Promise<string> {
      throw new RangeError(`out of range: ${id}`);
    }
    @of(Delete('delete/:id'), HttpCode(204))
    async delete(@Param('id') _id: string): Promise<void> {}
    @of(Get('away/:id'), Redirect('/elsewhere', 302))
    async away(@Param('id') id: string): Promise<unknown> {
      return { url: `/to/${id}`, statusCode: 307 };
    }
    @of(Get('bad/:id'))
    async bad(@Param('id', ParseIntPipe) id: number, @Ip() _ip: string): Promise<number> {
      return id;
    }
  }
  return Handlers;
}

@Controller({ path: 'request', scope: Scope.REQUEST })
class PerRequest {
  constructor(@Inject(REQUEST) private readonly request: { url: string; klock?: KlockSlot }) {}
  @Get(':id')
  @Locked('r:{0}')
  async get(@Param('id') id: string, @CurrentFence() fence?: bigint): Promise<unknown> {
    return { id, url: this.request.url, same: this.request.klock?.fence === fence && fence !== undefined };
  }
}

abstract class Base {
  @Get('inherited/:id')
  @Locked('i:{0}')
  async inherited(@Param('id') id: string, @CurrentLock() lock?: LockHandle): Promise<string> {
    return `${this.constructor.name} ${id} ${lock?.key.join('/')}`;
  }
  @Get('overridden/:id')
  @Locked('o:{0}')
  async overridden(@Param('id') id: string, @CurrentLock() lock?: LockHandle): Promise<string> {
    return `base ${id} ${lock?.held}`;
  }
}
@Controller('one')
class One extends Base {}
@Controller('two')
class Two extends Base {
  @Get('overridden/:id')
  @Locked('t:{0}')
  override async overridden(@Param('id') id: string, @CurrentLock() lock?: LockHandle): Promise<string> {
    return `${lock?.key.join('/')} then ${await super.overridden(id)}`;
  }
}

const IDS: Record<string, unknown> = {
  number: 0,
  negative: -7,
  text: 'a/b:{c}%',
  missing: undefined,
  null: null,
  empty: '',
  yes: true,
  list: ['a'],
  object: {},
};
@Controller('key')
class Keys {
  bodies = 0;
  @Post('template')
  @Locked('user:{0.deep.id}')
  async template(@Body('dto') _dto: unknown): Promise<string> {
    return `ran ${++this.bodies}`;
  }
  @Locked((dto: { deep?: { id?: string } }) => `user:${dto.deep?.id}`)
  @Post('function')
  async byFunction(@Body('dto') _dto: { deep?: { id?: string } }): Promise<string> {
    return `ran ${++this.bodies}`;
  }
}

describe.each([
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
])('a handler on %s', (_name, adapter) => {
  let server: LockServer;
  let app: INestApplication;
  let url: string;
  const granted: string[] = [];

  beforeAll(async () => {
    server = new LockServer({ address: '127.0.0.1:0', rateLimit: false });
    await server.start();
    @Module({
      imports: [KlockModule.forRoot({ url: `klock://${server.address}` })],
      controllers: [...Object.keys(WITH).map(controllerOf), PerRequest, One, Two, Keys],
      providers: [
        { provide: APP_FILTER, useClass: KlockExceptionFilter },
        { provide: APP_INTERCEPTOR, useClass: KlockInterceptor },
      ],
    })
    class App {}
    app = await NestFactory.create(App, adapter() as ExpressAdapter, {
      logger: false,
      forceCloseConnections: true,
    });
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
    app.get<Klock>(getKlockToken()).on('lock.granted', ({ key }) => granted.push(key.join('/')));
  });
  beforeEach(() => void (granted.length = 0));
  afterAll(async () => {
    await app.close();
    await server.close({ graceMs: 1 });
  });

  interface Answer {
    readonly status: number;
    readonly type: string | null;
    readonly mine: string | null;
    readonly location: string | null;
    readonly body: string;
  }
  const ask = async (path: string, method = 'GET', body?: object): Promise<Answer> => {
    const response = await fetch(`${url}/${path}`, {
      method,
      redirect: 'manual',
      headers: { connection: 'close', 'x-ask': 'asked', ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const { headers, status } = response;
    const [type, mine, location] = ['content-type', 'x-mine', 'location'].map((name) =>
      headers.get(name),
    ) as [null, null, null];
    return { status, type, mine, location, body: await response.text() };
  };

  it.each<[string, string, object?]>([
    ['GET', 'get/7?q=x'],
    ['POST', 'post/7', { a: 1 }],
    ['POST', 'also/8', { a: 1 }],
    ['PUT', 'put/7'],
    ['PATCH', 'patch/7'],
    ['DELETE', 'delete/7'],
    ['GET', 'away/7'],
    ['GET', 'bad/seven'],
  ])(
    '[B-068] [peers 1] %s %s is answered as by its undecorated twin with @Locked above and below, under one lock',
    async (...[method, path, body]) => {
      const refused = path === 'put/7' || path === 'bad/seven';
      const twin = await ask(`twin/${path}`, method, body);
      const ours = (answer: Answer): unknown => ({
        ...answer,
        // Only what an interceptor sees of the lock is not the twin's.
        body: answer.body.replace(/"granted":\[0,[01]\]/, 'granted').replace(/(above|below)/g, 'twin'),
      });
      for (const place of ['above', 'below']) {
        granted.length = 0;
        const answer = await ask(`${place}/${path}`, method, body);
        expect([place, ours(answer)]).toEqual([place, ours(twin)]);
        if (answer.body.includes('granted')) expect(answer.body).toContain('"granted":[0,1]');
        expect(granted).toHaveLength(refused ? 0 : 1);
        if (!refused) expect(granted[0]).toMatch(/^d:(7|8|14|16)$/);
      }
      expect(twin.status).toBeLessThan(500);
    },
  );

  it('[B-068] made for each request has its lock, and its request has the fence', async () => {
    expect(JSON.parse((await ask('request/7')).body)).toEqual({ id: '7', url: '/request/7', same: true });
    expect(granted).toEqual(['r:7']);
  });

  it('[B-068] that is inherited, or overrides a locked one, has the locks of the methods that ran', async () => {
    expect((await ask('one/inherited/7')).body).toBe('One 7 i:7');
    expect((await ask('two/inherited/7')).body).toBe('Two 7 i:7');
    expect((await ask('one/overridden/7')).body).toBe('base 7 true');
    granted.length = 0;
    expect((await ask('two/overridden/7')).body).toBe('t:7 then base 7 true');
    expect(granted).toEqual(['t:7', 'o:7']);
  });

  it('[B-074] is answered 400 and takes no lock for every value that is no text, and runs for 0', async () => {
    const other = createKlock({ driver: klockDriver({ url: `klock://${server.address}` }) });
    for (const [what, id] of Object.entries(IDS)) {
      for (const path of ['template', 'function']) {
        // A boolean or a list is text in JavaScript's eyes, and the key function's own business.
        if (path === 'function' && (what === 'yes' || what === 'list')) continue;
        granted.length = 0;
        const before = app.get(Keys).bodies;
        const { status, body } = await ask(`key/${path}`, 'POST', { dto: { deep: { id } } });
        const runs =
          ['number', 'negative', 'text'].includes(what) || (path === 'function' && what === 'empty');
        expect([what, path, status]).toEqual([what, path, runs ? 201 : 400]);
        if (!runs) expect(JSON.parse(body)).toMatchObject({ code: 'KEY_UNRESOLVED' });
        expect([granted.length, app.get(Keys).bodies - before]).toEqual(runs ? [1, 1] : [0, 0]);
      }
    }
    for (const dto of [undefined, null, 7, 'text', {}, { deep: null }]) {
      expect([dto, (await ask('key/template', 'POST', { dto })).status]).toEqual([dto, 400]);
    }
    for (const never of ['user:undefined', 'user:[object Object]'])
      expect(await other.isLocked(never)).toBe(false);
    await other.close();
  });
});
