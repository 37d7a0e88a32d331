// Installs exactly package-lock.json, unless node_modules already holds it. Node's own modules only.
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { run, step } from './progress.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const lock = `${root}package-lock.json`;
const modules = `${root}node_modules`;
const stamp = `${modules}/.klock-lock-sha256`;
const npmRecord = `${modules}/.package-lock.json`;

const lockHash = () => createHash('sha256').update(readFileSync(lock)).digest('hex');

function installed() {
  if (!existsSync(npmRecord)) return false;
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lockHash()) return true;
  // somebody ran npm by hand: npm wrote its record after the lock
  return statSync(npmRecord).mtimeMs >= statSync(lock).mtimeMs;
}

/** `npm ci` empties the folder it finds: behind a link that is the one of another checkout. */
function refuseLink() {
  if (lstatSync(modules, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return;
  const target = existsSync(modules) ? ` to ${realpathSync(modules)}` : '';
  throw new Error(
    `node_modules is a symbolic link${target}. Installing would empty what it points to. Remove the link (rm node_modules) and run this again.`,
  );
}

/** `npm ci` when node_modules is missing or older than the lock. Throws where node_modules is a symbolic link. */
export async function ensureInstalled() {
  refuseLink();
  if (!installed()) {
    // --include=dev: NODE_ENV=production would leave out what builds and tests
    const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--prefer-offline'];
    await step('Installing packages (npm ci)', () => run(npm(), args, { cwd: root }));
  }
  writeFileSync(stamp, lockHash());
}

const npm = () => (process.platform === 'win32' ? 'npm.cmd' : 'npm');

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await ensureInstalled();
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
