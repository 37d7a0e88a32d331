import { LOCK_EVENT_TYPES, type LockEvent } from './lock-events.js';
import { checkOneOf } from './options.js';

type Listener<E extends LockEvent['type']> = (event: Extract<LockEvent, { type: E }>) => void;

/** Listeners by event type. A listener that throws, or whose promise rejects, disturbs neither the others nor the lock. */
export class Emitter {
  private readonly listeners = new Map<string, Set<(event: LockEvent) => unknown>>();
  /** Whether anybody ever listened to anything. */
  private isUsed = false;

  /** @throws InvalidOptionError for a type that never comes: its listener would wait in vain. */
  on<E extends LockEvent['type']>(type: E, listener: Listener<E>): Disposable {
    checkOneOf('type', LOCK_EVENT_TYPES, type);
    const set = this.listeners.get(type) ?? new Set();
    this.listeners.set(type, set);
    // Wrapped, so that one function added twice is two listeners, each with a disposal of its own.
    const entry = (event: LockEvent): unknown => listener(event as Extract<LockEvent, { type: E }>);
    set.add(entry);
    this.isUsed = true;
    return { [Symbol.dispose]: () => void set.delete(entry) };
  }

  /** Whether anyone listens: the event need not be made otherwise. */
  has(type: LockEvent['type']): boolean {
    return this.isUsed && this.listensTo(type);
  }

  emit(event: LockEvent): void {
    const set = this.listeners.get(event.type);
    if (set === undefined) return;
    for (const listener of [...set]) {
      try {
        const returned = listener(event);
        // Of an async listener, whose rejection nobody else would hear: it would end the process.
        if (returned instanceof Promise) returned.catch((error: unknown) => this.report(event, error));
      } catch (error) {
        this.report(event, error);
      }
    }
  }

  private listensTo(type: LockEvent['type']): boolean {
    const set = this.listeners.get(type);
    return set !== undefined && set.size > 0;
  }

  private report(event: LockEvent, cause: unknown): void {
    // A failing warning listener is told to nobody: there is nobody left to tell.
    if (event.type === 'warning') return;
    this.emit({
      type: 'warning',
      code: 'LISTENER_FAILED',
      message: `a listener of ${event.type} failed`,
      cause,
    });
  }
}
