import { Logger } from '@nestjs/common';
import type { KlockInstance, LockKey, Section } from '../core/index.js';
import {
  ENTER_SECTION,
  LockLostError,
  NotInitializedError,
  formatKey,
  isLockError,
  quote,
} from '../core/index.js';
import { registryOf } from './binding.js';
import { connectionAmong, type ClientConnection } from './client-connection.js';
import { fillParameters, parametersOf } from './current-lock.decorator.js';
import { holdBackStreams } from './held-back-stream.js';
import type { KeyOf } from './key-source.js';
import type { LockedRules } from './locked-options.js';
import { className, type LockedTarget } from './locked-target.js';
import { currentSlot } from './lock-slot.js';
import { noteOrigin } from './request-key.js';

/** A decorated method: what it was, and under which rules it runs. */
export interface LockedMethod {
  readonly target: LockedTarget;
  readonly keyOf: KeyOf;
  readonly rules: LockedRules;
}

/** How a call may go on. */
export type Entry =
  | { readonly entered: 'locked'; readonly section: Section }
  /** Asked for by `onUnavailable: 'run-unlocked'`. */
  | { readonly entered: 'unlocked' }
  | { readonly entered: 'skipped' };

const UNLOCKED: Entry = { entered: 'unlocked' };
const SKIPPED: Entry = { entered: 'skipped' };

const logger = new Logger('Klock');

/** One call of a decorated method, whatever shape its caller expects. */
export class LockedCall {
  /** What the key function threw, told once there is a lock to be had. */
  private readonly keyProblem: unknown;
  private readonly key: LockKey | undefined = undefined;
  private readonly args: readonly unknown[];
  /** Set once a lock was asked for: what fails before that no rule forgives. */
  private asked: LockKey | undefined = undefined;
  private store = '';
  /** What ends a stream of this call, beside its own end. */
  readonly connection: ClientConnection | undefined;

  constructor(
    readonly method: LockedMethod,
    private readonly self: unknown,
    args: readonly unknown[],
  ) {
    this.args = holdBackStreams(args, method.target.label);
    this.connection = connectionAmong(args) ?? currentSlot()?.connection;
    // From the arguments as they are now: a caller may change them before the lock is granted or the stream subscribed.
    try {
      this.key = method.keyOf(args);
    } catch (error) {
      this.keyProblem = error;
    }
  }

  get label(): string {
    return this.method.target.label;
  }

  /** Waits for the lock, and says how the call may go on. @throws what {@link begin} throws and the rules do not forgive. */
  async enter(signal: AbortSignal): Promise<Entry> {
    let section: Section;
    try {
      section = await this.begin(signal);
    } catch (error) {
      return this.withoutLock(error);
    }
    this.note(section);
    return { entered: 'locked', section };
  }

  /**
   * Asks for the lock; answers at once where nothing has to be waited for.
   * @throws or rejects with NotInitializedError for an object no application knows, InvalidKeyError, and what an acquire
   * throws. The body has not run then.
   */
  begin(signal?: AbortSignal): Section | Promise<Section> {
    const klock = this.instance();
    return klock instanceof Promise
      ? klock.then((opened) => this.beginWith(this.present(opened), signal))
      : this.beginWith(this.present(klock), signal);
  }

  private beginWith(klock: KlockInstance, signal: AbortSignal | undefined): Section | Promise<Section> {
    const { section: options } = this.method.rules;
    this.asked = this.resolvedKey();
    this.store = klock.store;
    return klock[ENTER_SECTION](this.asked, signal === undefined ? options : { ...options, signal });
  }

  /** Shows the request what it was granted. */
  note(section: Section): void {
    currentSlot()?.fill({ lock: section.handle, store: this.store });
  }

  /** Runs the method itself; with a section, inside its flow and with its handle in the parameters that ask for it. */
  run(section: Section | undefined): unknown {
    const { target } = this.method;
    const handle = section?.handle;
    const parameters = parametersOf(target.prototype).get(target.name);
    const args =
      parameters === undefined
        ? this.args
        : fillParameters(this.args, parameters, { lock: handle, fence: handle?.fence });
    const body = (): unknown => target.method.apply(this.self, args as unknown[]);
    return section === undefined ? body() : section.run(body);
  }

  /** The error that a loss makes of a result, if the rules say so. Asked before the section is left, or in that turn. */
  lossOf(section: Section, result?: unknown): LockLostError | undefined {
    const { lost } = section;
    if (lost === undefined || this.method.rules.onLost === 'ignore') return undefined;
    return new LockLostError(`${this.label}: ${lost.message}`, {
      ...(lost.key && { key: lost.key }),
      ...(lost.fence !== undefined && { fence: lost.fence }),
      reason: lost.reason,
      lossCode: lost.lossCode,
      cause: lost,
      result,
    });
  }

  private instance(): KlockInstance | Promise<KlockInstance> | undefined {
    const registry = registryOf(this.self);
    if (registry === undefined) throw this.notInitialized();
    return registry.find(this.method.rules.use);
  }

  private present(klock: KlockInstance | undefined): KlockInstance {
    if (klock !== undefined) return klock;
    throw new NotInitializedError(
      `${this.label} needs the klock instance ${quote(this.method.rules.use)}, which no imported KlockModule makes (there are: ${registryOf(this.self)?.names.join(', ') || 'none'})`,
    );
  }

  private notInitialized(): NotInitializedError {
    const owner = className(this.method.target.prototype);
    const what =
      typeof this.self === 'object' && this.self !== null
        ? `this ${owner} belongs to no Nest application that imports KlockModule. Import KlockModule.forRoot(...) in the root module, and let Nest make the object or hand it to Nest as a provider; what a factory made, or is a useValue, has its locks from app.init() on`
        : `it was called without its ${owner}: keep the object, as in () => service.method()`;
    return new NotInitializedError(`${this.label} was not run, since it is locked and ${what}`);
  }

  private resolvedKey(): LockKey {
    if (this.key !== undefined) return this.key;
    const error = this.keyProblem;
    if (isLockError(error)) noteOrigin(error, this.method.target.prototype, this.method.target.name);
    throw error;
  }

  /** How the call goes on although {@link begin} failed. @throws the error where the rules do not say. */
  withoutLock(error: unknown): Entry {
    const { onBusy, onUnavailable } = this.method.rules;
    if (this.asked === undefined) throw error;
    if (onBusy === 'skip' && isLockError(error, 'LOCK_TIMEOUT')) {
      logger.debug(`${this.label} was skipped: ${formatKey(this.asked)} is busy`);
      return SKIPPED;
    }
    if (onUnavailable === 'throw' || !isLockError(error, 'LOCK_UNAVAILABLE')) throw error;
    const skip = onUnavailable === 'skip';
    logger.warn(`${this.label} ${skip ? 'was skipped' : 'runs UNLOCKED'}: ${error.message}`);
    return skip ? SKIPPED : UNLOCKED;
  }
}
