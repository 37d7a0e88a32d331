import { Inject, Injectable, Logger } from '@nestjs/common';
import { DiscoveryService, ModulesContainer } from '@nestjs/core';
import { InvalidOptionError, quote } from '../core/index.js';
import { bind, isBindable, registryOf } from './binding.js';
import { parametersOf } from './current-lock.decorator.js';
import { lockedMethodsOf, type LockedMethodFacts } from './locked-methods.js';
import { className } from './locked-target.js';
import { registryOfApplication, type Registry } from './registry.js';
import { REGISTRY } from './tokens.js';
import { warnOfTransactions } from './transaction-order.js';

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];
type HostModule = NonNullable<Wrapper['host']>;
type Factory = (...deps: unknown[]) => unknown;

const logger = new Logger('Klock');

/**
 * Looks at everything the application is made of once, before it starts: binds objects that Nest did not construct itself
 * (`useFactory`, `useValue`), and refuses what could only fail at the first call.
 */
@Injectable()
export class LockedExplorer {
  private readonly root: Registry;

  constructor(
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(ModulesContainer) container: ModulesContainer,
  ) {
    this.root = registryOfApplication(container);
  }

  /** @throws InvalidOptionError naming Class.method for an instance nobody registered, or an option its back end cannot keep. */
  explore(): void {
    const wrappers = [...this.discovery.getProviders(), ...this.discovery.getControllers()];
    const warned = new WeakSet<object>();
    for (const wrapper of wrappers) {
      const registry = this.registryOf(wrapper.host);
      if (wrapper.isNotMetatype) this.bindMade(wrapper, registry);
      const prototype = prototypeOf(wrapper);
      if (prototype !== undefined) checkClass(prototype, registry, warned);
    }
  }

  /** The registry a module sees: that of a feature view it imports, or the application's. */
  private registryOf(host: HostModule | undefined): Registry {
    for (const imported of host?.imports ?? []) {
      const provider = imported.isGlobal ? undefined : imported.providers.get(REGISTRY);
      if (provider !== undefined) return provider.instance as Registry;
    }
    return this.root;
  }

  private bindMade(wrapper: Wrapper, registry: Registry): void {
    const made: unknown[] = [wrapper.instance];
    // A transient factory has made one object for each of those that were given one at the start.
    if (wrapper.isTransient) {
      for (const host of wrapper.getStaticTransientInstances()) made.push(host?.instance);
    }
    for (const object of made) bound(object, registry);
    if (wrapper.isFactory && (wrapper.isTransient || !wrapper.isDependencyTreeStatic()))
      bindLater(wrapper, registry);
  }
}

/** Request-scoped and transient factories make their objects after this pass, so each product is bound as it is made. */
function bindLater(wrapper: Wrapper, registry: Registry): void {
  const make = wrapper.metatype as Factory;
  const makeBound: Factory = (...deps) => {
    const made = make(...deps);
    if (made instanceof Promise) return made.then((product: unknown) => bound(product, registry));
    return bound(made, registry);
  };
  wrapper.metatype = makeBound;
}

function bound(product: unknown, registry: Registry): unknown {
  if (!isBindable(product)) return product;
  warnIfAnothers(product, registry);
  bind(product, registry);
  return product;
}

/** May be meant: a service of one application handed to another. Where it is not, the locks are in the wrong store. */
function warnIfAnothers(object: object, { application }: Registry): void {
  const owner = registryOf(object);
  if (owner === undefined || owner.closed || owner.application === application) return;
  logger.warn(
    `${className(object)} is one object in two applications that run in this process: its methods lock with the KlockModule of the first, and fail when that has closed. Make one for each, by useClass or useFactory`,
  );
}

function prototypeOf(wrapper: Wrapper): object | undefined {
  if (!wrapper.isNotMetatype) return (wrapper.metatype as { prototype?: object } | null)?.prototype;
  return isBindable(wrapper.instance) ? (Object.getPrototypeOf(wrapper.instance) as object) : undefined;
}

function checkClass(ownPrototype: object, registry: Registry, warned: WeakSet<object>): void {
  let prototype: object | null = ownPrototype;
  while (prototype !== null && prototype !== Object.prototype) {
    const methods = lockedMethodsOf(prototype);
    for (const facts of methods.values()) for (const fact of facts) checkMethod(fact, registry);
    for (const name of parametersOf(prototype).keys())
      if (!methods.has(name)) throw withoutLock(prototype, name);
    warnOfTransactions(prototype, logger, warned);
    prototype = Object.getPrototypeOf(prototype) as object | null;
  }
}

function checkMethod({ label, rules }: LockedMethodFacts, registry: Registry): void {
  const klock = registry.find(rules.use);
  if (klock === undefined) {
    const known =
      registry.names.length === 0 ? 'none is imported' : `imported are ${registry.names.join(', ')}`;
    throw new InvalidOptionError(`@Locked on ${label} uses the instance ${quote(rules.use)}; ${known}`, {
      option: 'use',
      value: rules.use,
    });
  }
  const { atLeastMs } = rules.section;
  if (atLeastMs === undefined || klock instanceof Promise || klock.capabilities.atLeast) return;
  throw new InvalidOptionError(
    `@Locked on ${label}: the back end of ${quote(rules.use)} cannot keep atLeastMs`,
    {
      option: 'atLeastMs',
      value: atLeastMs,
    },
  );
}

function withoutLock(prototype: object, name: string | symbol): InvalidOptionError {
  const label = `${className(prototype)}.${String(name)}`;
  return new InvalidOptionError(
    `${label} has a parameter with @CurrentLock() or @CurrentFence() but no @Locked`,
    {
      code: 'UNSUPPORTED_TARGET',
      option: '@CurrentLock()',
      value: label,
    },
  );
}
