import { createRequire } from 'node:module';

/**
 * A library klock is compared with, from the benchmarks' own node_modules. The caller says what it uses of it: its
 * types are not installed where the types are checked.
 */
export function peer<T>(name: string): T {
  const { KLOCK_BENCH_PEERS: manifest, KLOCK_BENCH_PEERS_ERROR: problem } = process.env;
  if (problem !== undefined) throw new Error(`the libraries could not be installed: ${problem}`);
  if (manifest === undefined)
    throw new Error('KLOCK_BENCH_PEERS does not name the manifest of the libraries');
  return createRequire(manifest)(name) as T;
}
