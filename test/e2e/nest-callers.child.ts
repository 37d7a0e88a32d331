// What test/e2e/nest-callers.spec.ts starts: one application in which a decorated method is called from everywhere.
// Arguments: the lock server's url, the port of Redis; ports for TCP and gRPC in KLOCK_TEST_PORTS.
/* eslint-disable @typescript-eslint/require-await -- decorated methods are async, awaiting or not */
import 'reflect-metadata';
import { AsyncLocalStorage } from 'node:async_hooks';
import { writeFileSync } from 'node:fs';
import { Worker, isMainThread, parentPort } from 'node:worker_threads';
import { BullModule, OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import {
  Controller,
  Inject,
  Injectable,
  Module,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
  type OnModuleInit,
} from '@nestjs/common';
import { APP_INTERCEPTOR, NestFactory } from '@nestjs/core';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import {
  ClientProxyFactory,
  GrpcMethod,
  GrpcStreamMethod,
  MessagePattern,
  Transport,
  type ClientGrpc,
  type ClientProxy,
} from '@nestjs/microservices';
import { Interval, ScheduleModule } from '@nestjs/schedule';
import { QueueEvents, type Job, type Queue } from 'bullmq';
import { Command, CommandFactory, CommandRunner } from 'nest-commander';
import { Observable, lastValueFrom, map, of, take, toArray } from 'rxjs';
import {
  CurrentLock,
  InjectKlock,
  KlockModule,
  Locked,
  getKlockToken,
  type Klock,
  type LockHandle,
} from 'klock';
import { serve } from '../support/child-side.mjs';

const [url = '', redisPort = '0'] = process.argv.slice(2);
const [tcpPort, grpcPort] = (process.env.KLOCK_TEST_PORTS ?? '').split(' ').map(Number);
const outer = new AsyncLocalStorage<string>();
/** Whether calls are made inside an AsyncLocalStorage of the application's own, as `nestjs-cls` does. */
let withStore = false;

function inStore<T>(run: () => T): T {
  return withStore ? outer.run('of the application', run) : run();
}

/** The one method that everybody calls. */
@Injectable()
class Shared {
  constructor(@InjectKlock() readonly klock: Klock) {}

  @Locked((from: string) => ['callers', from], { waitMs: 5_000 })
  async work(from: string, @CurrentLock() lock?: LockHandle): Promise<string> {
    await new Promise((resolve) => setTimeout(resolve, 5));
    const seen = this.klock.current()?.fence === lock?.fence;
    return `${from} ${lock?.held} ${seen} ${outer.getStore() ?? 'no store'}`;
  }
}

const answers: Record<string, Promise<string>> = {};
let onInterval: ((answer: Promise<string>) => void) | undefined;

@Injectable()
class Bootstrapped implements OnModuleInit {
  constructor(@Inject(Shared) private readonly shared: Shared) {}
  async onModuleInit(): Promise<void> {
    answers.init = this.shared.work('init');
    await answers.init;
  }

  @Interval(50)
  interval(): void {
    onInterval?.(inStore(() => this.shared.work('cron')));
    onInterval = undefined;
  }

  @OnEvent('happened', { async: true })
  @Locked('event:below')
  async below(tell: (text: string) => void): Promise<void> {
    tell(await this.shared.work('event'));
  }

  @Locked('event:above')
  @OnEvent('happened', { async: true })
  async above(tell: (text: string) => void): Promise<void> {
    tell(await this.shared.work('event'));
  }
}

@Injectable()
class StoreInterceptor implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return new Observable((subscriber) => inStore(() => next.handle().subscribe(subscriber)));
  }
}

@Controller()
class Handlers {
  constructor(@Inject(Shared) private readonly shared: Shared) {}

  @MessagePattern('work')
  @Locked('message')
  async message(): Promise<string> {
    return await this.shared.work('message');
  }

  @Locked('grpc')
  @GrpcMethod('Orders', 'Place')
  async place(): Promise<{ text: string }> {
    return { text: await this.shared.work('grpc') };
  }

  /** Client and server stream: held from the first message to the end. */
  @GrpcStreamMethod('Orders', 'Talk')
  @Locked('talk')
  talk(orders: Observable<{ id: string }>): Observable<{ text: string }> {
    return orders.pipe(map(({ id }) => ({ text: `${id} ${this.shared.klock.current('talk')?.held}` })));
  }
}

const QUEUE = `orders-${process.pid}`;

@Processor(QUEUE, { concurrency: 4 })
class Orders extends WorkerHost {
  private inside = 0;
  most = 0;
  completed = 0;
  constructor(@Inject(Shared) private readonly shared: Shared) {
    super();
  }

  @Locked((job: Job<{ id: string }>) => ['queue', job.data.id])
  async process(_job: Job<{ id: string }>): Promise<string> {
    this.most = Math.max(this.most, ++this.inside);
    try {
      return await inStore(() => this.shared.work('queue'));
    } finally {
      this.inside--;
    }
  }

  @OnWorkerEvent('completed')
  @Locked('completed')
  async onCompleted(): Promise<void> {
    this.completed++;
  }
}

@Command({ name: 'work' })
class WorkCommand extends CommandRunner {
  constructor(@Inject(Shared) private readonly shared: Shared) {
    super();
  }
  @Locked('command')
  async run(): Promise<void> {
    answers.command = inStore(() => this.shared.work('command'));
    await answers.command;
  }
}

const locks = KlockModule.forRoot({ url, ttlMs: 2_000 });

@Module({ imports: [locks], providers: [Shared, WorkCommand] })
class CommandApp {}

@Module({ imports: [locks], providers: [Shared] })
class SmallApp {}

const redis = { host: '127.0.0.1', port: Number(redisPort) };

@Module({
  imports: [
    locks,
    ScheduleModule.forRoot(),
    EventEmitterModule.forRoot(),
    BullModule.forRoot({ connection: redis }),
    BullModule.registerQueue({ name: QUEUE }),
  ],
  controllers: [Handlers],
  providers: [Shared, Bootstrapped, Orders, { provide: APP_INTERCEPTOR, useClass: StoreInterceptor }],
})
class App {}

const PROTO = `syntax = "proto3"; package orders; service Orders {
  rpc Place(Order) returns (Placed); rpc Talk(stream Order) returns (stream Placed); }
  message Order { string id = 1; } message Placed { string text = 1; }`;

/** What a worker thread does: an application of its own. */
async function workInThread(): Promise<void> {
  const app = await NestFactory.createApplicationContext(SmallApp, { logger: false });
  const text = await app.get(Shared).work('worker');
  await app.close();
  parentPort?.postMessage(text);
}

async function main(): Promise<void> {
  const protoPath = `${process.argv[1]}.proto`;
  writeFileSync(protoPath, PROTO);
  const tcp = { transport: Transport.TCP, options: { host: '127.0.0.1', port: tcpPort } } as const;
  const grpc = {
    transport: Transport.GRPC,
    options: { package: 'orders', protoPath, url: `127.0.0.1:${grpcPort}` },
  } as const;
  const app = await NestFactory.create(App, { logger: false });
  app.connectMicroservice(tcp, { inheritAppConfig: true });
  app.connectMicroservice(grpc, { inheritAppConfig: true });
  await app.startAllMicroservices();
  await app.init();
  const shared = app.get(Shared);
  const klock = app.get<Klock>(getKlockToken());
  const tcpClient: ClientProxy = ClientProxyFactory.create(tcp);
  const grpcClient = ClientProxyFactory.create(grpc) as unknown as ClientGrpc;
  const orders = grpcClient.getService<{
    place(order: object): Observable<{ text: string }>;
    talk(orders: Observable<object>): Observable<{ text: string }>;
  }>('Orders');
  const queue = app.get<Queue>(`BullQueue_${QUEUE}`);
  const ends = new QueueEvents(QUEUE, { connection: redis });

  serve({
    store: (on: boolean) => void (withStore = on),
    init: () => answers.init,
    cron: () => new Promise<string>((resolve) => (onInterval = (answer) => void answer.then(resolve))),
    timer: () =>
      inStore(() => new Promise((resolve) => setTimeout(() => void shared.work('timer').then(resolve), 1))),
    message: () => lastValueFrom(tcpClient.send<string>('work', {})),
    grpc: async () => (await lastValueFrom(orders.place({ id: '1' }))).text,
    talk: async () => {
      const texts = await lastValueFrom(orders.talk(of({ id: '1' }, { id: '2' })).pipe(take(2), toArray()));
      return texts.map(({ text }) => text);
    },
    event: async () => {
      const told: string[] = [];
      const both = new Promise<void>((resolve) => {
        const tell = (text: string): void => void (told.push(text) === 2 && resolve());
        inStore(() => app.get(EventEmitter2).emit('happened', tell));
      });
      await both;
      return told[0] === told[1] ? told[0] : told;
    },
    queue: async () => {
      const jobs = await queue.addBulk(
        Array.from({ length: 6 }, () => ({ name: 'order', data: { id: '1' } })),
      );
      const results = (await Promise.all(jobs.map((job) => job.waitUntilFinished(ends, 10_000)))) as string[];
      return new Set(results).size === 1 ? results[0] : results;
    },
    queueFacts: () => ({ most: app.get(Orders).most, completed: app.get(Orders).completed }),
    command: async () => {
      process.argv.splice(2, process.argv.length, 'work');
      await CommandFactory.run(CommandApp, { logger: false });
      return await answers.command;
    },
    worker: async () => {
      const worker = new Worker(process.argv[1]!, { argv: [url] });
      return await new Promise((resolve, reject) => {
        worker.once('message', resolve);
        worker.once('error', reject);
      });
    },
    manual: async () => {
      const bare = new Shared(klock);
      return await bare
        .work('manual')
        .catch((error: Error & { code: string }) => `${error.code}: ${error.message}`);
    },
    locked: async () => (await klock.inspect('callers')).locked,
  });
}

if (isMainThread) await main();
else await workInThread();
