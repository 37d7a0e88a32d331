import type { LocalLock } from './contender.js';

const MODULES = {
  'async-mutex': () => import('./async-mutex.js'),
  'async-mutex-imported': () => import('./async-mutex-imported.js'),
  'least-handle': () => import('./least-handle.js'),
  'lock-table': () => import('./lock-table.js'),
  'two-level-lock': () => import('./two-level-lock.js'),
  'memory-driver': () => import('./memory-driver.js'),
} satisfies Record<string, () => Promise<{ open(): LocalLock | Promise<LocalLock> }>>;

export type LocalLockName = keyof typeof MODULES;
export const LOCAL_LOCKS = Object.keys(MODULES) as LocalLockName[];

export async function openLocalLock(name: LocalLockName): Promise<LocalLock> {
  const module = await MODULES[name]();
  return await module.open();
}
