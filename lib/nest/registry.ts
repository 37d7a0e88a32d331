import { Logger } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';
import type { KlockInstance } from '../core/index.js';
import { ClosedError, InvalidOptionError, createKlock, quote } from '../core/index.js';
import { collectAbandoned } from './abandoned.js';
import { BACKENDS, type OpenBackend } from './backends.js';
import { logEvents } from './event-log.js';
import { sameOptions, type CheckedOptions } from './module-options.js';

/** The instances an object's application (or feature module) has. */
export interface Registry {
  /** True from the moment the application shuts down. */
  readonly closed: boolean;
  /** What all registries of one application have in common. */
  readonly application: object;
  /** Names that {@link find} knows. */
  readonly names: readonly string[];
  /** The instance of that name; a promise while its back end is being opened; undefined if there is none. */
  find(name: string): KlockInstance | Promise<KlockInstance> | undefined;
}

interface Entry {
  readonly options: CheckedOptions;
  readonly opening: Promise<KlockInstance>;
  klock: KlockInstance | undefined;
  backend: OpenBackend | undefined;
}

/** All instances of one application, each opened once however often it is imported, and closed together. */
export class ApplicationRegistry implements Registry {
  private readonly entries = new Map<string, Entry>();
  private readonly logger = new Logger('Klock');
  private closing: Promise<void> | undefined = undefined;
  private started = false;

  get application(): this {
    return this;
  }

  get closed(): boolean {
    return this.closing !== undefined;
  }

  get names(): readonly string[] {
    return [...this.entries.keys()];
  }

  /** Whether a process that just ends would leave locks, or clients of its lock server, to their leases. */
  get outlivesProcess(): boolean {
    return [...this.entries.values()].some(
      ({ options, klock }) => options.backend !== 'driver' || klock?.driver.name !== 'memory',
    );
  }

  find(name: string): KlockInstance | Promise<KlockInstance> | undefined {
    const entry = this.entries.get(name);
    return entry?.klock ?? entry?.opening;
  }

  /** From now on an instance that cannot be opened, in a module loaded later, is that module's affair. */
  noteStart(): void {
    this.started = true;
  }

  /**
   * Opens the instance that options still to be made ask for. An application that does not start is not closed either:
   * where one instance fails, those opened beside it, and the lock server hosted by one, are closed.
   */
  async openFor(optionsOf: () => CheckedOptions | Promise<CheckedOptions>): Promise<KlockInstance> {
    try {
      return await this.open(await optionsOf());
    } catch (error) {
      if (!this.started) await this.close();
      throw error;
    }
  }

  /**
   * Opens an instance, or returns the one that was opened with the same options.
   * @throws InvalidOptionError if the name is taken by other options, and what the back end throws.
   */
  private open(options: CheckedOptions): Promise<KlockInstance> {
    if (this.closed) {
      throw new ClosedError(
        `klock instance ${quote(options.name)} was not opened: its application is closed`,
      );
    }
    const known = this.entries.get(options.name);
    if (known === undefined) return this.start(options);
    if (sameOptions(known.options, options)) return known.opening;
    throw new InvalidOptionError(
      `KlockModule is imported twice with different options for the instance ${quote(options.name)}: import it once, or give each a name`,
      { option: 'name', value: options.name },
    );
  }

  private start(options: CheckedOptions): Promise<KlockInstance> {
    const entry: { -readonly [K in keyof Entry]: Entry[K] } = {
      options,
      opening: Promise.resolve().then(() => this.build(options, entry)),
      klock: undefined,
      backend: undefined,
    };
    this.entries.set(options.name, entry);
    return entry.opening;
  }

  private async build(options: CheckedOptions, entry: Entry): Promise<KlockInstance> {
    if (options.unnamedMemory) this.warnOfMemory();
    if (options.given !== undefined) {
      entry.klock = options.given.klock;
      return entry.klock;
    }
    const backend = await BACKENDS[options.backend].open(options.backendOptions);
    entry.backend = backend;
    const klock = createKlock({ ...options.instance, name: options.name, driver: backend.driver });
    logEvents(klock, this.logger, options.logLocks);
    entry.klock = klock;
    return klock;
  }

  /** Refused in production: several replicas with locks of their own look as if they worked (design D12). */
  private warnOfMemory(): void {
    if (process.env.NODE_ENV === 'production') {
      throw new InvalidOptionError(
        "KlockModule.forRoot() keeps locks inside this process, which NODE_ENV=production refuses unless it is asked for by name: driver: 'memory', or name a back end",
        { option: 'driver', value: undefined },
      );
    }
    this.logger.warn('Locks are local to this process: name a back end before running more than one.');
  }

  /**
   * Shuts down: new acquires are refused, running sections end with their locks still renewed, up to each instance's
   * `graceMs`; then locks are released and connections closed. Once; never rejects.
   */
  close(): Promise<void> {
    this.closing ??= Promise.all([...this.entries.values()].map((entry) => this.end(entry))).then(
      () => undefined,
    );
    return this.closing;
  }

  private async end(entry: Entry): Promise<void> {
    try {
      await entry.opening;
    } catch {
      // Its failure was the application's to report; what was opened before it is still closed.
    }
    if (entry.klock !== undefined) await this.closeInstance(entry.klock, entry.options);
    await entry.backend?.close?.();
  }

  private async closeInstance(klock: KlockInstance, { graceMs, given }: CheckedOptions): Promise<void> {
    if (given !== undefined) return await given.close();
    const report = collectAbandoned(klock, this.logger);
    await klock.close(graceMs === undefined ? {} : { graceMs });
    report();
  }
}

/** The registry as one feature module sees it: one instance through a prefix, all others as they are. */
export class FeatureRegistry implements Registry {
  private view: KlockInstance | undefined = undefined;

  constructor(
    private readonly root: Registry,
    private readonly prefix: string,
    private readonly use: string,
  ) {}

  get closed(): boolean {
    return this.root.closed;
  }

  get application(): object {
    return this.root.application;
  }

  get names(): readonly string[] {
    return this.root.names;
  }

  find(name: string): KlockInstance | Promise<KlockInstance> | undefined {
    const found = this.root.find(name);
    if (name !== this.use || found === undefined) return found;
    return found instanceof Promise ? found.then((klock) => this.viewOf(klock)) : this.viewOf(found);
  }

  private viewOf(klock: KlockInstance): KlockInstance {
    this.view ??= klock.view(this.prefix);
    return this.view;
  }
}

const REGISTRIES = Symbol.for('klock.nest.registries.v1');
type Shared = { [REGISTRIES]?: WeakMap<ModulesContainer, ApplicationRegistry> };

/** The registry of the application a container belongs to: one, even if two copies of the package are imported into it. */
export function registryOfApplication(container: ModulesContainer): ApplicationRegistry {
  const registries = ((globalThis as Shared)[REGISTRIES] ??= new WeakMap<
    ModulesContainer,
    ApplicationRegistry
  >());
  let registry = registries.get(container);
  if (registry === undefined) registries.set(container, (registry = new ApplicationRegistry()));
  return registry;
}
