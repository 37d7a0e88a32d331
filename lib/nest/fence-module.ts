import { Module, type DynamicModule } from '@nestjs/common';
import { optionError, refuseUnknown } from '../core/index.js';
import {
  FENCE_OPTIONS,
  checkFenceOptions,
  type FenceModuleAsyncOptions,
  type FenceModuleOptions,
} from './fence-options.js';

/** Gives the handlers decorated with `@Fenced` the store in which they compare fences. Global. */
@Module({})
export class FenceModule {
  /** @throws InvalidOptionError naming the option. */
  static forRoot(options: FenceModuleOptions): DynamicModule {
    const settings = checkFenceOptions('FenceModule.forRoot', options);
    return moduleOf({ provide: FENCE_OPTIONS, useValue: settings });
  }

  /** The same with options from a factory. A failing factory fails the start. */
  static forRootAsync(options: FenceModuleAsyncOptions): DynamicModule {
    refuseUnknown('FenceModule.forRootAsync', options, ['imports', 'inject', 'useFactory']);
    const given: object & { readonly useFactory?: unknown } = options;
    if (typeof given.useFactory !== 'function')
      throw optionError('useFactory', 'a function', given.useFactory);
    const useFactory = async (...deps: unknown[]): Promise<unknown> =>
      checkFenceOptions(
        'the factory of FenceModule.forRootAsync',
        await options.useFactory(...(deps as never[])),
      );
    return moduleOf({ provide: FENCE_OPTIONS, useFactory, inject: options.inject ?? [] }, options.imports);
  }
}

type Provider = NonNullable<DynamicModule['providers']>[number];

function moduleOf(provider: Provider, imports: DynamicModule['imports'] = []): DynamicModule {
  return { module: FenceModule, global: true, imports, providers: [provider], exports: [FENCE_OPTIONS] };
}
