import type { Random } from '../../core/index.js';
import type { LocalLock } from './local-lock.js';

/** Live grants whose token somebody has seen. */
export class TokenBook {
  private readonly locks = new Map<string, LocalLock>();

  constructor(private readonly random: Random) {}

  make(lock: LocalLock): string {
    const token = `lk_${this.random.id()}`;
    if (!lock.over) this.locks.set(token, lock);
    return token;
  }

  get(token: string): LocalLock | undefined {
    return this.locks.get(token);
  }

  forget(token: string): void {
    this.locks.delete(token);
  }
}
