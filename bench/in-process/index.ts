import type { LocalLock } from './contender.js';

const MODULES = {
  'async-mutex': () => import('./async-mutex.js'),
  'lock-table': () => import('./lock-table.js'),
  'two-level-lock': () => import('./two-level-lock.js'),
  'memory-driver': () => import('./memory-driver.js'),
} satisfies Record<string, () => Promise<{ open(): LocalLock }>>;

export type LocalLockName = keyof typeof MODULES;
export const LOCAL_LOCKS = Object.keys(MODULES) as LocalLockName[];

export async function openLocalLock(name: LocalLockName): Promise<LocalLock> {
  return (await MODULES[name]()).open();
}
