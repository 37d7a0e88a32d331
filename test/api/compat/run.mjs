// Packs the built library and runs it inside applications as its users write them: CommonJS on Nest 11 (with its usual
// Jest), ES modules and CommonJS on Nest 12, and both as `nest build` bundles them; installed by npm and, strictly, by
// pnpm. `npm run test:compat` and `npm run test:long` install each from nothing; `npm test` runs the first one over
// packages kept in .cache/.
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureInstalled } from '../../../scripts/install.mjs';
import { run, step } from '../../../scripts/progress.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = join(here, '../../..');
const cache = join(root, '.cache/compat');
const quick = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error', '--no-package-lock'];
const PNPM = 'pnpm@10.34.8';

export const compatApps = [
  'cjs-nest11',
  'esm-nest12',
  'cjs-nest12',
  'pnpm',
  'webpack-nest11',
  'webpack-nest12',
];
/** Nest 11 is nowhere else in the tests; Nest 12 is everywhere. */
export const quickCompatApps = ['cjs-nest11'];

const manifestOf = (file) => JSON.parse(readFileSync(file, 'utf8'));

/** The application's files, with no packages yet. */
function copyApp(name, dir) {
  cpSync(join(here, name), dir, { recursive: true });
  if (name.startsWith('webpack-')) cpSync(join(here, 'bundled'), dir, { recursive: true });
  else cpSync(join(here, 'app'), join(dir, 'src'), { recursive: true });
}

/** As a user does it: `npm install`, the tarball added to the dependencies, no force. */
async function installByNpm(name, tarball, dir) {
  copyApp(name, dir);
  await run('npm', ['install', ...quick], { cwd: dir });
  await run('npm', ['install', '--no-save', ...quick, tarball], { cwd: dir });
}

/** The same in one go by pnpm, where nothing can be loaded that is not a declared dependency. */
async function installByPnpm(tarball, dir, work) {
  copyApp('esm-nest12', dir);
  const manifest = manifestOf(join(dir, 'package.json'));
  manifest.dependencies.klock = `file:${tarball}`;
  writeFileSync(join(dir, 'package.json'), JSON.stringify(manifest));
  const tools = join(work, 'tools');
  mkdirSync(tools);
  await run('npm', ['install', '--prefix', tools, ...quick, PNPM], { cwd: tools });
  const env = { ...process.env, CI: '1' };
  const pnpm = join(tools, 'node_modules/pnpm/bin/pnpm.cjs');
  await run(process.execPath, [pnpm, 'install', '--prefer-offline', '--no-frozen-lockfile'], {
    cwd: dir,
    env,
  });
}

/** Over packages that were installed once: only klock itself is new, unpacked beside them. */
async function installFromCache(name, tarball, dir) {
  const app = join(dir, 'app');
  copyApp(name, app);
  symlinkSync(join(await cachedPackages(name), 'node_modules'), join(dir, 'node_modules'));
  const modules = join(app, 'node_modules');
  mkdirSync(modules, { recursive: true });
  await run('tar', ['-xzf', tarball, '-C', modules], { cwd: dir });
  renameSync(join(modules, 'package'), join(modules, 'klock'));
  return app;
}

async function cachedPackages(name) {
  const manifest = manifestOf(join(here, name, 'package.json'));
  Object.assign(manifest.dependencies, manifestOf(join(root, 'package.json')).dependencies);
  const text = JSON.stringify(manifest);
  const folder = join(cache, `${name}-${createHash('sha256').update(text).digest('hex').slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const fresh = mkdtempSync(join(cache, 'new-'));
  writeFileSync(join(fresh, 'package.json'), text);
  await run('npm', ['install', ...quick], { cwd: fresh });
  // Moved in whole: an install that was cut short is never taken for one.
  if (!existsSync(folder)) renameSync(fresh, folder);
  return folder;
}

async function check(name, tarball, work, cached) {
  const dir = join(work, name);
  mkdirSync(dir);
  let app = dir;
  if (cached) app = await installFromCache(name, tarball, dir);
  else if (name === 'pnpm') await installByPnpm(tarball, dir, work);
  else await installByNpm(name, tarball, dir);
  await run('npm', ['run', '-s', 'check'], { cwd: app });
}

/** Runs the applications; returns the failures by name. */
export async function checkCompat({ names = compatApps, cached = false } = {}) {
  const work = mkdtempSync(join(tmpdir(), 'klock-compat-'));
  const failures = [];
  try {
    const packed = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', work], {
      cwd: root,
    });
    const tarball = join(work, JSON.parse(packed)[0].filename);
    for (const name of names) {
      await step(`Checking klock inside ${name}`, () => check(name, tarball, work, cached)).catch((error) => {
        console.error(error.message);
        failures.push(name);
      });
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return failures;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const names = process.argv.slice(2);
  await ensureInstalled();
  await step('Building dist/', () => run('npm', ['run', '-s', 'build'], { cwd: root }));
  if ((await checkCompat(names.length > 0 ? { names } : {})).length > 0) process.exitCode = 1;
}
