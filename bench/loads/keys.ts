import { seededRandom } from '../numbers.js';
import type { Key } from '../contenders/contender.js';

/** `distinct`: 2,048 keys, nobody waits. `hot`: one key. `mix5`, `mix20`: that many of a hundred ask for an L1, the others for an L2 below. */
export type KeyPlan = 'distinct' | 'hot' | 'mix5' | 'mix20';

const DISTINCT = 2_048;
const TENANTS = 16;
const RESOURCES = 64;

/** The keys one worker asks for, one after another. */
export function keysFor(plan: KeyPlan, worker: number, workers: number): () => Key {
  if (plan === 'hot') return () => HOT;
  if (plan === 'distinct') return distinctKeys(worker, workers);
  return mixedKeys(plan === 'mix5' ? 0.05 : 0.2, worker);
}

const HOT: Key = ['hot'];

/** Each worker has a share of the keys to itself. */
function distinctKeys(worker: number, workers: number): () => Key {
  const keys: Key[] = [];
  for (let index = worker; index < DISTINCT; index += workers) keys.push([`key-${index}`]);
  let turn = 0;
  return () => keys[turn++ % keys.length] as Key;
}

function mixedKeys(wholeTenants: number, worker: number): () => Key {
  const random = seededRandom(worker + 1);
  return () => {
    const tenant = `tenant-${Math.floor(random() * TENANTS)}`;
    if (random() < wholeTenants) return [tenant];
    return [tenant, `resource-${Math.floor(random() * RESOURCES)}`];
  };
}
