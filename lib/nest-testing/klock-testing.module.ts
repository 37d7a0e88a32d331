import { Module, type DynamicModule } from '@nestjs/common';
import { INSTANCE_OVERRIDE, KlockModule, givenInstance, type GivenInstance } from '../nest/index.js';
import { TestKlock } from '../testing/index.js';

/** What is used of `Test.createTestingModule(...)`. */
export interface TestingBuilder {
  overrideProvider(token: symbol): { useValue(value: unknown): unknown };
}

/**
 * Locks for tests of Nest applications: decorated methods and injected `Klock` work on a {@link TestKlock}, in process and on
 * a clock that only the test moves. When the application closes, it is closed with it, whatever still runs.
 */
@Module({})
export class KlockTestingModule {
  /**
   * In the place of `KlockModule.forRoot`, for a module put together by a test.
   * `imports: [KlockTestingModule.forRoot(locks)]`
   */
  static forRoot(test: TestKlock = new TestKlock()): DynamicModule {
    return {
      module: KlockTestingModule,
      global: true,
      imports: [KlockModule.forRoot(givenInstance(given(test)))],
      providers: [{ provide: TestKlock, useValue: test }],
      exports: [TestKlock],
    };
  }

  /**
   * For an application that imports `KlockModule` itself: no back end is opened and no factory of its options runs.
   * Instances with other names become further clients of the same store.
   * `KlockTestingModule.override(Test.createTestingModule({ imports: [AppModule] }), locks).compile()`
   * @returns the builder.
   */
  static override<B extends TestingBuilder>(builder: B, test: TestKlock = new TestKlock()): B {
    const instances = new Map<string, GivenInstance>([[test.klock.name, given(test)]]);
    const instanceOf = (name: string): GivenInstance => {
      const known = instances.get(name) ?? given(test.another({ name }));
      instances.set(name, known);
      return known;
    };
    builder.overrideProvider(INSTANCE_OVERRIDE).useValue(instanceOf);
    return builder;
  }
}

function given(test: TestKlock): GivenInstance {
  return { klock: test.klock, close: () => test.close() };
}
