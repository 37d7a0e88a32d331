// Builds dist/{esm,cjs,sample-app}. Each part is built beside dist/ and moved in whole, so that a process
// started meanwhile never meets half a build, and nothing is done when no source has changed.
// `--force` builds anyway; `--lib` leaves out the sample application.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './progress.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const work = join(root, '.build', String(process.pid));
const tsc = join(root, 'node_modules/typescript/bin/tsc');

const parts = {
  esm: { config: 'lib/tsconfig.lib.json', inputs: ['lib'] },
  cjs: { config: 'lib/tsconfig.cjs.json', inputs: ['lib'] },
  'sample-app': { config: 'sample-app/tsconfig.app.json', inputs: ['lib', 'sample-app'] },
};

function sources(folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter(
      (entry) =>
        entry.isFile() && /\.(ts|json)$/.test(entry.name) && !/\.spec(-support)?\.ts$/.test(entry.name),
    )
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** A name for everything that can change the output of a part. */
function fingerprint({ inputs }) {
  const hash = createHash('sha256');
  const shared = ['package.json', 'package-lock.json', 'tsconfig.base.json', 'scripts/build.mjs'].map((f) =>
    join(root, f),
  );
  for (const file of [...shared, ...inputs.flatMap(sources)])
    hash.update(`${file}\0`).update(readFileSync(file));
  return hash.digest('hex');
}

const stampOf = (name) => join(root, 'dist', `.${name}.stamp`);
const upToDate = (name, print) =>
  existsSync(join(root, 'dist', name)) &&
  existsSync(stampOf(name)) &&
  readFileSync(stampOf(name), 'utf8') === print;

function moveIn(name, out, print) {
  const target = join(root, 'dist', name);
  mkdirSync(join(root, 'dist'), { recursive: true });
  rmSync(stampOf(name), { force: true });
  if (existsSync(target)) renameSync(target, join(work, `${name}.old`));
  renameSync(out, target);
  writeFileSync(stampOf(name), print);
}

async function build(name) {
  const part = parts[name];
  const print = fingerprint(part);
  if (upToDate(name, print) && !process.argv.includes('--force')) return;
  const out = join(work, name);
  mkdirSync(out, { recursive: true });
  await run(process.execPath, [tsc, '-p', part.config, '--outDir', out], { cwd: root });
  if (name === 'cjs') writeFileSync(join(out, 'package.json'), '{"type":"commonjs"}\n');
  moveIn(name, out, print);
}

const hasApp = () => sources('sample-app').some((file) => file.endsWith('.ts'));

try {
  // both to their end before the folder they build in is removed
  const ends = await Promise.allSettled([build('esm'), build('cjs')]);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  if (!process.argv.includes('--lib') && hasApp()) await build('sample-app');
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}
