// Packs the built library and runs it inside a CommonJS Nest 11 application (with its usual Jest) and an ES module
// Nest 12 application, as their users would install it. `npm run test:compat`; also part of `npm run test:long`.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureInstalled } from '../../../scripts/install.mjs';
import { run, step } from '../../../scripts/progress.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = join(here, '../../..');
const quick = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error', '--no-package-lock'];

export const compatApps = ['cjs-nest11', 'esm-nest12'];

/** Installs the tarball into the application and runs its check; rejects with what was printed. */
async function check(name, tarball, work) {
  const dir = join(work, name);
  cpSync(join(here, name), dir, { recursive: true });
  cpSync(join(here, 'app'), join(dir, 'src'), { recursive: true });
  await run('npm', ['install', ...quick], { cwd: dir });
  await run('npm', ['install', '--no-save', ...quick, tarball], { cwd: dir });
  await run('npm', ['run', '-s', 'check'], { cwd: dir });
}

/** Runs every application; returns the failures by name. */
export async function checkCompat() {
  const work = mkdtempSync(join(tmpdir(), 'klock-compat-'));
  const failures = [];
  try {
    const packed = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', work], {
      cwd: root,
    });
    const tarball = join(work, JSON.parse(packed)[0].filename);
    for (const name of compatApps) {
      await step(`Checking klock inside ${name}`, () => check(name, tarball, work)).catch((error) => {
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
  await ensureInstalled();
  await step('Building dist/', () => run('npm', ['run', '-s', 'build'], { cwd: root }));
  if ((await checkCompat()).length > 0) process.exitCode = 1;
}
