import { importedPeer } from '../contenders/peers.js';
import { lockOf, type AsyncMutex } from './async-mutex.js';
import type { LocalLock } from './contender.js';

/** As an ES module has it, which klock's own rows are, too. */
export async function open(): Promise<LocalLock> {
  return lockOf(await importedPeer<AsyncMutex>('async-mutex'), 'async-mutex, imported');
}
