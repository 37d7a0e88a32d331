import { setMaxListeners, type EventEmitter } from 'node:events';

type Listener = (...args: unknown[]) => void;

/** The listening half of a client. */
export interface Listened {
  on(event: string, listener: Listener): unknown;
  off?(event: string, listener: Listener): unknown;
  removeListener?(event: string, listener: Listener): unknown;
}

/** Listens to events of a client and can take every listener back. */
export class LinkEvents {
  private readonly undo: (() => void)[] = [];
  private readonly listeners = new Set<() => void>();
  epoch = 0;
  /** Why the client is not connected, as it said last; undefined once it is. */
  trouble: unknown;

  /** Adds a listener to somebody else's emitter. */
  listen(target: Listened, event: string, listener: Listener): void {
    makeRoom(target);
    target.on(event, listener);
    this.undo.push(() => {
      if (target.off !== undefined) target.off(event, listener);
      else target.removeListener?.(event, listener);
    });
  }

  /** Connections changed: nothing learnt about the old ones holds. */
  changed(): void {
    this.epoch++;
    this.tell();
  }

  /** Connected: what was wrong before is over. */
  connected(): void {
    this.trouble = undefined;
    this.changed();
  }

  /** The client said that something is wrong. Heard here too, it ends no process that forgot to listen (case B-045). */
  failed(error: unknown): void {
    this.trouble = error;
    this.tell();
  }

  private tell(): void {
    for (const listener of [...this.listeners]) listener();
  }

  onChange(listener: () => void): Disposable {
    this.listeners.add(listener);
    return { [Symbol.dispose]: () => void this.listeners.delete(listener) };
  }

  detach(): void {
    this.listeners.clear();
    for (const undo of this.undo.splice(0)) undo();
  }
}

/** Several instances over one client are no leak; the limit of ten would warn of one. */
function makeRoom(target: Listened): void {
  const emitter = target as unknown as EventEmitter;
  if (typeof emitter.getMaxListeners !== 'function') return;
  const limit = emitter.getMaxListeners();
  if (limit > 0 && limit < 100) setMaxListeners(100, emitter);
}
