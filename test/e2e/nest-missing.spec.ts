// What an application answers, and its log says, where something is missing: the body of a locked method never runs.
/* eslint-disable @typescript-eslint/require-await -- decorated methods are async, awaiting or not */
import {
  Controller,
  Get,
  Inject,
  Injectable,
  Module,
  Query,
  type DynamicModule,
  type INestApplication,
  type Provider,
  type Type,
} from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import { InjectKlock, KlockExceptionFilter, KlockModule, Locked, type Klock } from 'klock';
import { LockServer } from 'klock/server';
import { listeningLogger, rejection, until } from './nest-support.js';

let bodies = 0;

@Injectable()
class Work {
  @Locked('work:{0}', { waitMs: 300 })
  async run(_id?: string): Promise<string> {
    return `ran ${(bodies += 1)}`;
  }
}

@Injectable()
class Elsewhere {
  @Locked('other', { use: 'orders' })
  async elsewhere(): Promise<string> {
    return `ran ${(bodies += 1)}`;
  }
}

/** Uses the work it is given, whoever made it. */
@Controller()
class Calls {
  constructor(@Inject('WORK') private readonly work: Pick<Work, 'run'>) {}
  @Get('run')
  async run(@Query('id') id?: string): Promise<string> {
    return await this.work.run(id);
  }
  @Get('handler')
  @Locked('handler:{0}')
  async handler(@Query('id') _id?: string): Promise<string> {
    return `ran ${(bodies += 1)}`;
  }
}

const GIVEN: Provider = { provide: 'WORK', useExisting: Work };
const { logger, lines } = listeningLogger();
let app: INestApplication | undefined;

async function appOf(
  imports: (DynamicModule | Type)[],
  providers: Provider[] = [Work, GIVEN],
): Promise<INestApplication> {
  @Module({
    imports,
    controllers: [Calls],
    providers: [...providers, { provide: APP_FILTER, useClass: KlockExceptionFilter }],
  })
  class App {}
  app = await NestFactory.create(App, { logger, abortOnError: false, forceCloseConnections: true });
  await app.listen(0, '127.0.0.1');
  return app;
}

async function get(path: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${await app!.getUrl()}/${path}`, { headers: { connection: 'close' } });
  const text = await response.text();
  const body = (text.startsWith('{') ? JSON.parse(text) : { text }) as Record<string, unknown>;
  return { status: response.status, body };
}

beforeEach(() => {
  bodies = 0;
  lines.length = 0;
});
afterEach(async () => {
  await app?.close();
  app = undefined;
  expect(bodies).toBe(0);
});

describe('a locked method in an application', () => {
  it('[B-061] without KlockModule is not run: 500, and the log names the method and the import', async () => {
    await appOf([]);
    for (const [path, method] of [
      ['run?id=1', 'Work.run'],
      ['handler?id=1', 'Calls.handler'],
    ] as const) {
      lines.length = 0;
      expect(await get(path)).toEqual({
        status: 500,
        body: { statusCode: 500, message: 'Internal server error' },
      });
      expect(lines.join('\n')).toContain(`${method} was not run`);
      expect(lines.join('\n')).toContain('Import KlockModule.forRoot(...)');
    }
  });

  it('[B-061] in an object made by hand is not run: 500, and the log says whom to give it to', async () => {
    // In a closure no pass over the application finds it.
    const byHand = new Work();
    const caller = { run: (id?: string) => byHand.run(id) };
    await appOf([KlockModule.forRoot({ driver: 'memory' })], [{ provide: 'WORK', useValue: caller }]);
    expect((await get('run?id=1')).status).toBe(500);
    expect(lines.join('\n')).toMatch(/Work\.run was not run.*hand it to Nest as a provider/);
  });

  it('[B-060] [B-061] with its store down is not run: 503, to be asked again', async () => {
    const server = new LockServer({ address: '127.0.0.1:0' });
    await server.start();
    await appOf([KlockModule.forRoot({ url: `klock://${server.address}` })]);
    await server.close({ graceMs: 1 });
    expect(await get('run?id=1')).toMatchObject({ status: 503, body: { code: 'LOCK_UNAVAILABLE' } });
    await until('the log names it', () => lines.some((line) => line.includes('does not answer')));
  });

  it('[B-074] with a part of its key undefined is not run: 400 in the handler, 500 below it, and the log names method and path', async () => {
    await appOf([KlockModule.forRoot({ driver: 'memory' })]);
    expect(await get('handler')).toMatchObject({ status: 400, body: { code: 'KEY_UNRESOLVED' } });
    expect((await get('run')).status).toBe(500);
    expect(lines.join('\n')).toMatch(/key part \{0\} of Work\.run is undefined/);
    expect((await get('handler?id=')).status).toBe(400);
  });
});

describe('an application', () => {
  const locks = KlockModule.forRoot({ driver: 'memory' });

  it.each<[string, (DynamicModule | Type)[], Provider[], RegExp]>([
    ['the module as a class', [KlockModule], [], /imported as a class.*KlockModule\.forRoot\(\.\.\.\)/],
    [
      'a feature view without its root',
      [KlockModule.forFeature({ prefix: 'x' })],
      [],
      /forFeature uses the instance "default", which no KlockModule\.forRoot\(\.\.\.\) makes.*there are: none/,
    ],
    [
      'a locked method that uses an instance nobody makes',
      [locks],
      [Elsewhere],
      /@Locked on Elsewhere\.elsewhere uses the instance "orders"; imported are default/,
    ],
    [
      'an injected instance that nobody makes',
      [locks],
      [needs('orders')],
      /klock\.instance:orders, made by KlockModule\.forRoot\(\)/,
    ],
  ])(
    '[B-061] with %s does not start, and says what is missing',
    async (_what, imports, providers, message) => {
      const error = await rejection(appOf(imports, [Work, GIVEN, ...providers]));
      expect(error.message).toMatch(message);
    },
  );

  it('may name the module as a class beside the one that configures it', async () => {
    @Module({ imports: [KlockModule] })
    class Feature {}
    @Injectable()
    class Plain {
      run(): Promise<string> {
        return Promise.resolve('plain');
      }
    }
    await appOf([locks, Feature], [{ provide: 'WORK', useClass: Plain }]);
    expect((await get('run')).body).toEqual({ text: 'plain' });
  });
});

/** A class that has the instance injected. */
function needs(name: string): Type {
  @Injectable()
  class Needing {
    constructor(@InjectKlock(name) readonly klock: Klock) {}
  }
  return Needing;
}
