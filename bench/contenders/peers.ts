import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

/**
 * A library klock is compared with, from the benchmarks' own node_modules. The caller says what it uses of it: its
 * types are not installed where the types are checked.
 */
export function peer<T>(name: string): T {
  return createRequire(manifest())(name) as T;
}

/** The same as an ES module gets it. */
export async function importedPeer<T>(name: string): Promise<T> {
  const beside = new URL('import.mjs', pathToFileURL(manifest())).href;
  const { load } = (await import(beside)) as { load: (name: string) => Promise<unknown> };
  return (await load(name)) as T;
}

function manifest(): string {
  const { KLOCK_BENCH_PEERS: path, KLOCK_BENCH_PEERS_ERROR: problem } = process.env;
  if (problem !== undefined) throw new Error(`the libraries could not be installed: ${problem}`);
  if (path === undefined) throw new Error('KLOCK_BENCH_PEERS does not name the manifest of the libraries');
  return path;
}
