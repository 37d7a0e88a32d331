/* eslint-disable @typescript-eslint/require-await -- decorated methods are async, awaiting or not */
import { Injectable, Module, type Type } from '@nestjs/common';
import { KlockModule, Locked, asTransaction } from 'klock';
import { listeningLogger, start } from './nest-support.js';

/** Stands for a transaction decorator of any library: it wraps, and writes down when. */
function Transactional(): MethodDecorator {
  return (_target, _name, descriptor: PropertyDescriptor) => {
    const method = descriptor.value as (...args: unknown[]) => Promise<unknown>;
    descriptor.value = async function (this: unknown, ...args: unknown[]): Promise<unknown> {
      return await method.apply(this, args);
    };
  };
}
const InTransaction = (): MethodDecorator => asTransaction(Transactional());

@Injectable()
class Base {
  @InTransaction()
  @Locked('a:{0}')
  async wrong(id: string): Promise<string> {
    return id;
  }

  @Locked('a:{0}')
  @InTransaction()
  async right(id: string): Promise<string> {
    return id;
  }

  @asTransaction(Transactional(), { holdsUntilCommit: true })
  @Locked('a:{0}')
  async kept(id: string): Promise<string> {
    return id;
  }

  @InTransaction()
  async unlocked(id: string): Promise<string> {
    return id;
  }
}

@Injectable()
class Derived extends Base {
  @InTransaction()
  @Locked('b:{0}')
  async alsoWrong(id: string): Promise<string> {
    return id;
  }
}

async function warnings(...providers: Type[]): Promise<string[]> {
  @Module({ imports: [KlockModule.forRoot({ driver: 'memory' })], providers })
  class App {}
  const { logger, lines } = listeningLogger();
  const app = await start(App, logger);
  for (const provider of providers) expect(await app.get<Base>(provider).wrong('x')).toBe('x');
  await app.close();
  return lines.filter((line) => line.includes('transaction'));
}

describe('the order of @Locked and a transaction decorator', () => {
  it('[B-080] is checked at the start: a lock inside its transaction is warned of by name, with what to do', async () => {
    const [warning, ...others] = await warnings(Base);
    expect(warning).toMatch(
      /^Base\.wrong: the transaction stands above @Locked, .*before the commit.*Put @Locked on top/,
    );
    expect(warning).toContain('lock.holdUntil(...)');
    expect(others).toEqual([]);
  });

  it('[B-080] is checked in inherited methods too, once for each method', async () => {
    const all = await warnings(Base, Derived);
    expect(all.map((line) => line.split(':')[0]).sort()).toEqual(['Base.wrong', 'Derived.alsoWrong']);
  });

  it('refuses what is no decorator and options it does not know', () => {
    expect(() => asTransaction(undefined as never)).toThrow(/decorator must be a method decorator/);
    expect(() => asTransaction(Transactional(), { safe: true } as never)).toThrow(/no option "safe"/);
    expect(() => asTransaction(Transactional(), { holdsUntilCommit: 'no' as never })).toThrow(
      /must be true or false/,
    );
  });
});
