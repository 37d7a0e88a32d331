import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ENTRY_TABLE } from './entry-table.js';
import { entryPoints, pack, temporaryFolder } from './pack.js';

const exec = promisify(execFile);
const MINUTES = 60_000;
const OPTIONAL_PEERS = ['@opentelemetry/api', 'prom-client'];

describe('an entry point of the packed package, installed with Nest and the optional peers', () => {
  let app: string;

  beforeAll(async () => {
    app = temporaryFolder('install');
    const { tarball } = await pack(app);
    const { devDependencies: dev } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      devDependencies: Record<string, string>;
    };
    // The optional peers too: an entry that loads one it may not load would pass if it were not there to be loaded.
    const peers = ['@nestjs/common', '@nestjs/core', 'rxjs', 'reflect-metadata', ...OPTIONAL_PEERS];
    const versions = peers.map((name) => [name, dev[name]]);
    const dependencies = { ...Object.fromEntries(versions), klock: `file:${tarball}` } as Record<
      string,
      string
    >;
    writeFileSync(join(app, 'package.json'), JSON.stringify({ name: 'app', private: true, dependencies }));
    const quick = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
    await exec('npm', ['install', ...quick], { cwd: app });
  }, 5 * MINUTES);

  it('is in the table of the design, each of them', () => {
    expect(entryPoints().filter((entry) => !(entry in ENTRY_TABLE))).toEqual([]);
  });

  it.each(
    entryPoints().flatMap((entry) => [
      [entry, 'import'],
      [entry, 'require'],
    ]),
  )(
    'loads only what the table says: %s by %s',
    async (entry, how) => {
      const statement = how === 'import' ? `await import('${entry}')` : `require('${entry}')`;
      const kind = how === 'import' ? 'module' : 'commonjs';
      const loaded = await packagesLoaded(app, ['--input-type', kind, '-e', statement]);
      const allowed = closure(app, ENTRY_TABLE[entry]!.loads);
      expect(loaded.filter((name) => name !== 'klock' && !allowed.has(name))).toEqual([]);
      expect(loaded).toContain('klock');
    },
    30_000,
  );
});

/** The packages whose files a Node process ran: V8 reports every script, however it was loaded. */
async function packagesLoaded(app: string, args: readonly string[]): Promise<string[]> {
  const folder = temporaryFolder('coverage');
  mkdirSync(folder, { recursive: true });
  await exec(process.execPath, args, { cwd: app, env: { ...process.env, NODE_V8_COVERAGE: folder } });
  const urls = readdirSync(folder).flatMap((file) => {
    const { result } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { result: { url: string }[] };
    return result.map((script) => script.url);
  });
  const names = urls.map((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1]);
  return [...new Set(names.filter((name) => name !== undefined))].sort();
}

/** The named packages and all they depend on themselves. */
function closure(app: string, names: readonly string[], known = new Set<string>()): Set<string> {
  for (const name of names) {
    if (known.has(name)) continue;
    known.add(name);
    const needs = manifest(app, name);
    closure(
      app,
      Object.keys({ ...needs.dependencies, ...needs.optionalDependencies, ...needs.peerDependencies }),
      known,
    );
  }
  return known;
}

type Needs = Partial<
  Record<'dependencies' | 'optionalDependencies' | 'peerDependencies', Record<string, string>>
>;

function manifest(app: string, name: string): Needs {
  try {
    return JSON.parse(readFileSync(join(app, 'node_modules', name, 'package.json'), 'utf8')) as Needs;
  } catch {
    return {}; // an optional peer that is not installed
  }
}
