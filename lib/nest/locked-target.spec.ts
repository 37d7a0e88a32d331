/* eslint-disable @typescript-eslint/require-await -- decorated methods are async, awaiting or not */
import { Locked } from './locked.decorator.js';
import { CurrentLock } from './current-lock.decorator.js';
import { boundTo, openKlock, thrown } from './locked.spec-support.js';

const decorate = Locked('k') as unknown as (...args: unknown[]) => void;

function refusal(...args: unknown[]): string {
  const error = thrown(() => decorate(...args));
  expect(error).toMatchObject({ name: 'InvalidOptionError', code: 'UNSUPPORTED_TARGET' });
  return (error as Error).message;
}

describe('a target @Locked cannot wrap', () => {
  class Target {
    stored = 1;
    get x(): number {
      return 1;
    }
    set y(_value: number) {}
    static async m(): Promise<void> {}
    *sync(): Generator<number> {
      yield 1;
    }
    async ok(): Promise<string> {
      return 'ok';
    }
  }
  const own = (name: string): PropertyDescriptor | undefined =>
    Object.getOwnPropertyDescriptor(Target.prototype, name);

  it('[B-073] is refused when the class is defined, naming Class.member and the reason', () => {
    expect(refusal(Target.prototype, 'x', own('x'))).toMatch(/Target\.x is an accessor/);
    expect(refusal(Target.prototype, 'y', own('y'))).toMatch(/Target\.y is an accessor/);
    expect(refusal(Target.prototype, 'stored', undefined)).toMatch(/Target\.stored is a field/);
    expect(refusal(Target.prototype, 'stored', { initializer: () => 1 })).toMatch(
      /Target\.stored is a field/,
    );
    expect(refusal(Target, 'm', Object.getOwnPropertyDescriptor(Target, 'm'))).toMatch(/Target\.m is static/);
    expect(refusal(Target)).toMatch(/Target is a class/);
    expect(refusal(Target, undefined, 0)).toMatch(/Target is a class/);
    expect(refusal(Target.prototype, 'ok', 0)).toMatch(/Target\.ok has the decorator on a parameter/);
    expect(refusal(Target.prototype, 'value', { value: 7 })).toMatch(/Target\.value is not a function/);
    expect(refusal(Target.prototype, 'sync', own('sync'))).toMatch(/Target\.sync is a synchronous generator/);
  });

  it('[B-073] is refused under standard decorators, with the compiler option that is needed', () => {
    for (const [kind, name] of [
      ['method', 'm'],
      ['field', 'f'],
      ['class', 'C'],
      ['method', '#private'],
    ]) {
      expect(refusal(() => undefined, { kind, name, metadata: {} })).toMatch(
        new RegExp(`${kind} ${name}.*experimentalDecorators`),
      );
    }
  });

  it('[B-073] is refused for the parameter decorators too: no constructor, no static method', () => {
    for (const args of [
      [Target, undefined, 0],
      [Target, 'm', 0],
    ] as const) {
      expect(thrown(() => (CurrentLock() as (...given: unknown[]) => void)(...args))).toMatchObject({
        code: 'UNSUPPORTED_TARGET',
      });
    }
  });
});

describe('a target @Locked can wrap', () => {
  it('[B-073] may have a symbol for its name', async () => {
    const name = Symbol('secret');
    class Service {
      @Locked('k')
      async [name](): Promise<string> {
        return 'ran';
      }
    }
    expect(await boundTo(new Service(), openKlock().klock)[name]()).toBe('ran');
  });

  it('[B-073] is looked up on the prototype where a build tool passes no descriptor', async () => {
    const { klock } = openKlock();
    class Service {
      async m(): Promise<boolean> {
        return await klock.isLocked('k');
      }
    }
    decorate(Service.prototype, 'm');
    expect(await boundTo(new Service(), klock).m()).toBe(true);
  });
});
