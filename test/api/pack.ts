import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { reapFolder } from '../support/reaper.js';

const exec = promisify(execFile);

/** A folder below the system's temporary one, removed when the tests end. */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `klock-${name}-`));
  reapFolder(folder);
  return folder;
}

/** Packs the built package into `folder`; returns the tarball's path and the files in it. */
export async function pack(folder: string): Promise<{ tarball: string; files: string[] }> {
  if (!existsSync('dist/esm/index.js')) throw new Error('dist/ is not built: run `npm run build`');
  const { stdout } = await exec('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]);
  const [packed] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
  return { tarball: join(folder, packed.filename), files: packed.files.map((file) => file.path).sort() };
}

/** Names of the entry points as their users write them: `klock`, `klock/core`, ... */
export function entryPoints(): string[] {
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    exports: Record<string, unknown>;
  };
  return Object.keys(exports)
    .filter((key) => !key.endsWith('.json'))
    .map((key) => `klock${key.slice(1)}`);
}
