// What test/e2e/nest-compilers.spec.ts compiles with each build tool and runs: a lock server and an application over HTTP
// whose locked methods the tool has made, then every target that cannot be locked. Prints one line of JSON.
/* eslint-disable @typescript-eslint/require-await -- decorated methods are async, awaiting or not */
import 'reflect-metadata';
import { Controller, Get, Inject, Injectable, Module, Param } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type Observable, delay, from, lastValueFrom, toArray } from 'rxjs';
import { CurrentLock, KlockModule, Locked, getKlockToken, type Klock, type LockHandle } from 'klock';
import { LockServer } from 'klock/server';

type Anything = (...args: unknown[]) => void;
const lock = Locked('k') as unknown as Anything &
  MethodDecorator &
  PropertyDecorator &
  ClassDecorator &
  ParameterDecorator;
const named = Symbol('named');

@Injectable()
class Work {
  // A build tool without type metadata must be told what to inject.
  @Inject(getKlockToken()) readonly klock!: Klock;

  @Locked('promise:{0}')
  async promise(id: string, @CurrentLock() held?: LockHandle): Promise<string> {
    return `${id} ${held?.held} ${await this.klock.isLocked(`promise:${id}`)}`;
  }
  @Locked('observable')
  observable(): Observable<boolean> {
    return from([1, 2]).pipe(delay(1), () =>
      from([1, 2].map(() => this.klock.current('observable') !== undefined)),
    );
  }
  @Locked('inferred')
  inferred() {
    return from([this.klock.current('inferred')?.held]);
  }
  @Locked('steps')
  async *steps(): AsyncGenerator<boolean | undefined> {
    yield this.klock.current('steps')?.held;
    yield this.klock.current('steps')?.held;
  }
  @Locked('symbol')
  async [named](): Promise<boolean> {
    return await this.klock.isLocked('symbol');
  }
}

@Injectable()
class Inheriting extends Work {}

@Controller()
class Calls {
  @Inject(Work) private readonly work!: Work;
  @Inject(Inheriting) private readonly inheriting!: Inheriting;

  @Get('all/:id')
  @Locked('all:{0}')
  async all(@Param('id') id: string, @CurrentLock() held?: LockHandle): Promise<unknown> {
    const { work } = this;
    const steps: unknown[] = [];
    for await (const step of work.steps()) steps.push(step);
    return {
      handler: held?.held,
      promise: await work.promise(id),
      inherited: await this.inheriting.promise(`${id}2`),
      observable: await lastValueFrom(work.observable().pipe(toArray())),
      inferred: await lastValueFrom(work.inferred().pipe(toArray())),
      steps,
      symbol: await work[named](),
    };
  }
}

/** Each defines a class that must not come into being. */
const refused: Record<string, () => unknown> = {
  getter: () => {
    class Target {
      @lock
      get x(): number {
        return 1;
      }
    }
    return Target;
  },
  setter: () => {
    class Target {
      @lock
      set x(_value: number) {}
    }
    return Target;
  },
  field: () => {
    class Target {
      @lock
      x = async (): Promise<void> => {};
    }
    return Target;
  },
  static: () => {
    class Target {
      @lock
      static async x(): Promise<void> {}
    }
    return Target;
  },
  class: () => {
    @lock
    class Target {}
    return Target;
  },
  constructorParameter: () => {
    class Target {
      constructor(@lock readonly x: string) {}
    }
    return Target;
  },
  parameter: () => {
    class Target {
      async x(@lock _x: string): Promise<void> {}
    }
    return Target;
  },
  generator: () => {
    class Target {
      @lock
      *x(): Generator<number> {
        yield 1;
      }
    }
    return Target;
  },
};

function refusals(): Record<string, unknown> {
  const told: Record<string, unknown> = {};
  for (const [what, define] of Object.entries(refused)) {
    try {
      define();
      told[what] = 'accepted';
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      told[what] = [code, message];
    }
  }
  return told;
}

async function main(): Promise<void> {
  const server = new LockServer({ address: '127.0.0.1:0' });
  await server.start();
  @Module({
    imports: [KlockModule.forRoot({ url: `klock://${server.address}` })],
    controllers: [Calls],
    providers: [Work, Inheriting],
  })
  class App {}
  const app = await NestFactory.create(App, { logger: false, forceCloseConnections: true });
  await app.listen(0, '127.0.0.1');
  const response = await fetch(`${await app.getUrl()}/all/7`, { headers: { connection: 'close' } });
  const ran: unknown = await response.json();
  const left = server.stats.locks;
  await app.close();
  await server.close({ graceMs: 1 });
  process.stdout.write(JSON.stringify({ ran, left, refused: refusals() }));
}

await main();
