// `npm test`: needs nothing before it but a clone, Node and npm. Installs, builds, fetches the stores that test
// files start, runs Jest once per project and adds up. The last line printed is always the sum.
//   --long       the same files without scaling (KLOCK_LONG=1)
//   other words  are handed to Jest (paths, -t ...)
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureInstalled } from '../scripts/install.mjs';
import { run, step } from '../scripts/progress.mjs';
import { findStore, variableOf } from '../scripts/stores.mjs';
import { checkCompat, compatApps, quickCompatApps } from './api/compat/run.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const long = process.argv.includes('--long');
const asked = process.argv.slice(2).filter((word) => word !== '--long');
const minutes = 60_000;

/** Hard limits of one Jest run: a hang ends as a failure with a name, not as a build that never comes back. */
const runs = [
  { project: 'main', args: ['--maxWorkers=2'], limitMs: (long ? 90 : 10) * minutes },
  { project: 'in-band', args: ['--runInBand'], limitMs: (long ? 90 : 10) * minutes },
];
const EXIT_AFTER_COUNTS_MS = 20_000;
const starters = { redis: 'startRedis(', etcd: 'startEtcd(', postgres: 'startPostgres(' };

function specFiles() {
  return ['lib', 'test', 'sample-app']
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true }).map((file) => join(root, folder, file)),
    )
    .filter(
      (file) =>
        /\.ts$/.test(file) && !file.includes('/node_modules/') && !file.includes('/support/services/'),
    )
    .concat(servicesSpecs());
}

const servicesSpecs = () => {
  const folder = join(root, 'test/support/services');
  return existsSync(folder)
    ? readdirSync(folder)
        .filter((f) => f.endsWith('.spec.ts'))
        .map((f) => join(folder, f))
    : [];
};

/** Looks up every store that a test file starts; what is missing fails those tests, not the whole run. */
async function fetchStores() {
  const texts = specFiles().map((file) => readFileSync(file, 'utf8'));
  for (const [name, starter] of Object.entries(starters)) {
    if (!texts.some((text) => text.includes(starter))) continue;
    try {
      process.env[variableOf(name)] = await step(`Looking for ${name}`, () => findStore(name));
    } catch (error) {
      console.error(error.message);
      process.env[`KLOCK_TEST_${name.toUpperCase()}_ERROR`] = error.message;
    }
  }
}

function endGroup(child) {
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // already gone
  }
}

const readCounts = (file) => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
};

/** Jest ends with 1 when tests failed; those are counted. Without counts, only 0 (no file matched) is in order. */
function unexpectedEnd(code, signal, countsFile) {
  if (signal) return `it was ended by ${signal}`;
  return code > 1 || (code === 1 && !existsSync(countsFile)) ? `it ended with ${code}` : undefined;
}

/** One Jest process in a process group of its own, so that nothing it started outlives it. */
function jest({ project, args, limitMs }, countsFile) {
  const argv = [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    join(root, 'node_modules/jest/bin/jest.js'),
    `--selectProjects=${project}`,
    ...args,
    '--passWithNoTests',
    ...asked,
  ];
  const env = {
    ...process.env,
    NODE_ENV: 'test',
    KLOCK_TEST_COUNTS: countsFile,
    ...(long ? { KLOCK_LONG: '1' } : {}),
  };
  const child = spawn(process.execPath, argv, {
    cwd: root,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
  });
  const stop = () => endGroup(child);
  process.once('exit', stop);
  return new Promise((resolve) => {
    const end = (problem) => {
      clearInterval(watch);
      process.off('exit', stop);
      endGroup(child);
      resolve(problem);
    };
    const startedAt = Date.now();
    let countedAt;
    const watch = setInterval(() => {
      if (Date.now() - startedAt > limitMs) end(`it was still running after ${limitMs / minutes} minutes`);
      if (countedAt === undefined && existsSync(countsFile)) countedAt = Date.now();
      if (countedAt !== undefined && Date.now() - countedAt > EXIT_AFTER_COUNTS_MS) {
        end(
          'all tests had ended, yet something they left open, told above where Node knows it, kept it alive',
        );
      }
    }, 250);
    child.once('error', (error) => end(error.message));
    child.once('exit', (code, signal) => end(unexpectedEnd(code, signal, countsFile)));
  });
}

async function runProject(spec) {
  const folder = mkdtempSync(join(tmpdir(), 'klock-counts-'));
  const countsFile = join(folder, 'counts.json');
  console.log(`\n> Jest, project ${spec.project}`);
  let problem = await jest(spec, countsFile);
  const counts = readCounts(countsFile) ?? { passed: 0, failed: 0, skipped: 0, failures: [] };
  rmSync(folder, { recursive: true, force: true });
  if (problem) {
    counts.failed += 1;
    counts.failures.push(`project ${spec.project}: ${problem}`);
  }
  return counts;
}

async function runCompat() {
  const names = long ? compatApps : quickCompatApps;
  const failed = await checkCompat({ names, cached: !long });
  const failures = failed.map((name) => `test/api/compat: ${name}`);
  return { passed: names.length - failed.length, failed: failed.length, skipped: 0, failures };
}

function add(all) {
  const sum = (key) => all.reduce((total, counts) => total + counts[key], 0);
  return {
    passed: sum('passed'),
    failed: sum('failed'),
    skipped: sum('skipped'),
    failures: all.flatMap((counts) => counts.failures),
  };
}

async function main() {
  await ensureInstalled();
  await step('Building dist/ (npm run build)', () => run('npm', ['run', '-s', 'build'], { cwd: root }));
  await fetchStores();
  const all = [];
  for (const spec of runs) all.push(await runProject(spec));
  if (asked.length === 0) all.push(await runCompat());
  return add(all);
}

function report({ passed, failed, skipped, failures }) {
  for (const failure of failures) console.log(`failed: ${failure.replace(root, '')}`);
  if (passed + failed === 0) console.log('failed: no test ran');
  const skippedPart = skipped > 0 ? `, ${skipped} skipped` : '';
  console.log(`Tests: ${passed} passed, ${failed} failed${skippedPart}`);
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

try {
  report(await main());
} catch (error) {
  console.error(error.message);
  report({ passed: 0, failed: 1, skipped: 0, failures: ['the tests could not be started'] });
}
