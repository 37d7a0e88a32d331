// `npm run bench`: needs a clone, Node and npm. Installs, builds, installs the libraries klock is compared with, looks for
// Redis and etcd, then runs the benchmarks. Whatever is missing is said in the rows that need it. `--help` lists the flags.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureInstalled } from '../scripts/install.mjs';
import { run } from '../scripts/progress.mjs';
import { findStore } from '../scripts/stores.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const here = join(root, 'bench');
const out = join(root, 'dist', 'bench');
const peers = join(here, 'peers');

const swcOptions = {
  jsc: {
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
    target: 'es2022',
    keepClassNames: true,
  },
  module: { type: 'es6' },
  sourceMaps: 'inline',
  swcrc: false,
};

/** The benchmarks' own sources; their types are the type checker's business. */
async function transform() {
  const { transformSync } = await import('@swc/core');
  rmSync(out, { recursive: true, force: true });
  const sources = readdirSync(here, { recursive: true }).filter(
    (file) => file.endsWith('.ts') && !file.startsWith('peers'),
  );
  for (const file of sources) {
    const target = join(out, file.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(target), { recursive: true });
    const source = readFileSync(join(here, file), 'utf8');
    writeFileSync(target, transformSync(source, { ...swcOptions, filename: join(here, file) }).code);
  }
}

/** The peers as their lock file says; an installation that fails is told to the rows that need it. */
async function installPeers() {
  const lock = readFileSync(join(peers, 'package-lock.json'), 'utf8');
  const stamp = join(peers, 'node_modules', '.klock-lock');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return;
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  console.error('> installing the libraries to compare with ...');
  await run(npm, ['ci', '--include=dev', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: peers });
  writeFileSync(stamp, lock);
}

async function orTold(name, work) {
  try {
    return await work();
  } catch (error) {
    process.env[`KLOCK_BENCH_${name}_ERROR`] = error.message.split('\n')[0];
    return undefined;
  }
}

if (process.argv.includes('--help') || process.argv.includes('-h')) {
  const { HELP } = await import('./help.mjs');
  console.log(HELP);
} else {
  await ensureInstalled();
  await run(process.execPath, [join(root, 'scripts/build.mjs'), '--lib'], { cwd: root });
  await transform();
  process.env.KLOCK_BENCH_PEERS = join(peers, 'package.json');
  await orTold('PEERS', installPeers);
  for (const store of ['redis', 'etcd']) {
    const program = await orTold(store.toUpperCase(), () => findStore(store));
    if (program !== undefined) process.env[`KLOCK_BENCH_${store.toUpperCase()}`] = program;
  }
  await import(join(out, 'main.js'));
}
