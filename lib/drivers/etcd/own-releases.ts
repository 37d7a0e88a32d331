import { keyId, type Clock, type LockKey } from '../../core/index.js';
import { OWN_RELEASE_MS } from './bounds.js';

/**
 * Releases of this client that are under way. etcd carries out calls of one connection in any order: an acquire sent
 * right behind a release of the same key would often find the key still taken, queue, and be woken: three steps more.
 */
export class OwnReleases {
  private readonly underWay = new Map<string, Promise<unknown>>();

  constructor(private readonly clock: Clock) {}

  begun(key: LockKey, release: Promise<unknown>): void {
    const id = keyId(key);
    this.underWay.set(id, release);
    void release.then(() => {
      if (this.underWay.get(id) === release) this.underWay.delete(id);
    });
  }

  /** Resolves when the release under way is answered, or is slow; undefined if none is. */
  before(key: LockKey): Promise<unknown> | undefined {
    const release = this.underWay.get(keyId(key));
    if (release === undefined) return undefined;
    return new Promise<void>((resolve) => {
      const timer = this.clock.after(OWN_RELEASE_MS, resolve, { keepAlive: true });
      void release.then(() => {
        timer.cancel();
        resolve();
      });
    });
  }
}
