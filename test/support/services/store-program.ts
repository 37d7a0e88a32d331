import { execFile } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

export type StoreName = 'redis' | 'etcd' | 'postgres';

const found = new Map<StoreName, Promise<string>>();

/**
 * The path of a store's program, by the order of scripts/stores.mjs (variable, PATH, .cache/services, Debian's
 * packages). `npm test` has looked it up already and hands it over in KLOCK_TEST_<NAME>_BIN, or its failure in
 * KLOCK_TEST_<NAME>_ERROR.
 */
export function storeProgram(name: StoreName): Promise<string> {
  const path = found.get(name) ?? lookUp(name);
  found.set(name, path);
  return path;
}

async function lookUp(name: StoreName): Promise<string> {
  const failure = process.env[`KLOCK_TEST_${name.toUpperCase()}_ERROR`];
  if (failure) throw new Error(failure);
  const given = process.env[`KLOCK_TEST_${name.toUpperCase()}_BIN`];
  if (given && existsSync(given) && statSync(given).isFile()) return given;
  const script = join(process.cwd(), 'scripts/stores.mjs');
  const { stdout } = await promisify(execFile)(process.execPath, [script, name]);
  return stdout.trim();
}
