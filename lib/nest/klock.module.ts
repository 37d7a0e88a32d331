import { Inject, Module, Optional, type DynamicModule } from '@nestjs/common';
import {
  InvalidOptionError,
  checkKeyPrefix,
  checkLabel,
  optionError,
  quote,
  refuseUnknown,
} from '../core/index.js';
import { givenInstance, type GivenInstance } from './given-instance.js';
import { KlockRootModule } from './klock-root.module.js';
import {
  checkMadeOptions,
  checkModuleOptions,
  unnamedMemory,
  type CheckedOptions,
  type KlockFeatureOptions,
  type KlockModuleAsyncOptions,
  type KlockModuleOptions,
} from './module-options.js';
import { FeatureRegistry, type ApplicationRegistry, type Registry } from './registry.js';
import {
  DEFAULT_INSTANCE,
  INSTANCE_OVERRIDE,
  REGISTRY,
  ROOT_REGISTRY,
  getKlockToken,
  rootInstanceToken,
} from './tokens.js';

/** Locks for a Nest application: makes {@link Klock} injectable and `@Locked` work in every object Nest makes. */
@Module({})
export class KlockModule {
  /** @throws InvalidOptionError where the module is imported without forRoot, and nobody else imports it with. */
  constructor(@Optional() @Inject(ROOT_REGISTRY) registry?: Registry) {
    if (registry !== undefined) return;
    throw new InvalidOptionError(
      'KlockModule is imported as a class, which configures nothing: import KlockModule.forRoot(...) or KlockModule.forRootAsync(...)',
      { option: 'imports', value: 'KlockModule' },
    );
  }

  /**
   * One instance for the whole application. Without an argument its locks live inside this process.
   * Importing it again with the same options gives the same instance.
   * @throws InvalidOptionError naming the option: `undefined` or `{}` as argument, no or several or empty back ends, unknown options.
   */
  static forRoot(options?: KlockModuleOptions): DynamicModule;
  static forRoot(...given: readonly [KlockModuleOptions?]): DynamicModule {
    // An argument that is undefined is a configuration gone missing, not a wish for locks inside this process.
    const options =
      given.length === 0 ? unnamedMemory() : checkModuleOptions('KlockModule.forRoot', given[0]);
    return rootModule(options.name, {}, () => options);
  }

  /** The same with options from a factory, such as one that reads `ConfigService`. A failing factory fails the start. */
  static forRootAsync(options: KlockModuleAsyncOptions): DynamicModule {
    const name = checkAsyncOptions(options);
    return rootModule(name, options, async (...deps) => {
      const made = await options.useFactory(...(deps as never[]));
      const checked = checkMadeOptions(made);
      if (checked.name !== name && checked.name !== DEFAULT_INSTANCE) {
        throw optionError('name', `given to forRootAsync itself (there it is '${name}')`, checked.name);
      }
      return { ...checked, name };
    });
  }

  /**
   * A view for one feature module: `Klock` injected there, and `@Locked` in its own providers and controllers,
   * put `prefix/` before every key.
   */
  static forFeature(view: KlockFeatureOptions): DynamicModule {
    const { prefix, use } = checkFeatureOptions(view);
    const registry = {
      provide: REGISTRY,
      useFactory: (root: Registry) => new FeatureRegistry(root, prefix, use),
      inject: [ROOT_REGISTRY],
    };
    const klock = {
      provide: getKlockToken(use),
      useFactory: async (feature: Registry) => {
        const found = await feature.find(use);
        if (found !== undefined) return found;
        throw noInstance(use, feature.names);
      },
      // The instance is asked for only so that it is opened before its view.
      inject: [REGISTRY, { token: rootInstanceToken(use), optional: true }],
    };
    return {
      module: KlockModule,
      imports: [KlockRootModule],
      providers: [registry, klock],
      exports: [registry, klock],
    };
  }
}

function noInstance(use: string, names: readonly string[]): InvalidOptionError {
  return new InvalidOptionError(
    `KlockModule.forFeature uses the instance ${quote(use)}, which no KlockModule.forRoot(...) makes: import it in the root module (there are: ${names.join(', ') || 'none'})`,
    { option: 'use', value: use },
  );
}

type Override = ((name: string) => GivenInstance) | null;

/** Options that use an instance as it is; whatever the application asked for is not even computed. */
function givenOptions(given: GivenInstance): CheckedOptions {
  return checkModuleOptions('INSTANCE_OVERRIDE', givenInstance(given));
}

function rootModule(
  name: string,
  { imports, inject }: Pick<KlockModuleAsyncOptions, 'imports' | 'inject'>,
  optionsOf: (...deps: unknown[]) => CheckedOptions | Promise<CheckedOptions>,
): DynamicModule {
  const instance = {
    provide: rootInstanceToken(name),
    useFactory: async (registry: ApplicationRegistry, override: Override, ...deps: unknown[]) =>
      await registry.openFor(() => (override === null ? optionsOf(...deps) : givenOptions(override(name)))),
    inject: [ROOT_REGISTRY, INSTANCE_OVERRIDE, ...(inject ?? [])],
  };
  const klock = { provide: getKlockToken(name), useExisting: rootInstanceToken(name) };
  return {
    module: KlockModule,
    global: true,
    imports: [KlockRootModule, ...(imports ?? [])],
    providers: [instance, klock],
    exports: [instance, klock],
  };
}

/** The name of the instance that the factory configures. */
function checkAsyncOptions(options: KlockModuleAsyncOptions): string {
  if (typeof options !== 'object' || options === null) {
    throw optionError('options', 'an object with useFactory', options);
  }
  refuseUnknown('KlockModule.forRootAsync', options, ['name', 'imports', 'inject', 'useFactory']);
  const given: object & { readonly useFactory?: unknown } = options;
  if (typeof given.useFactory !== 'function') throw optionError('useFactory', 'a function', given.useFactory);
  return options.name === undefined ? DEFAULT_INSTANCE : checkLabel('name', options.name);
}

function checkFeatureOptions(view: KlockFeatureOptions): Required<KlockFeatureOptions> {
  if (typeof view !== 'object' || view === null) throw optionError('view', 'an object with a prefix', view);
  refuseUnknown('KlockModule.forFeature', view, ['prefix', 'use']);
  const use = view.use === undefined ? DEFAULT_INSTANCE : checkLabel('use', view.use);
  return { prefix: checkKeyPrefix('prefix', view.prefix), use };
}
