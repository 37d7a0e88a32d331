// Installs exactly package-lock.json, unless node_modules already holds it. Node's own modules only.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { run, step } from './progress.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const lock = `${root}package-lock.json`;
const stamp = `${root}node_modules/.klock-lock-sha256`;
const npmRecord = `${root}node_modules/.package-lock.json`;

const lockHash = () => createHash('sha256').update(readFileSync(lock)).digest('hex');

function installed() {
  if (!existsSync(npmRecord)) return false;
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lockHash()) return true;
  // somebody ran npm by hand: npm wrote its record after the lock
  return statSync(npmRecord).mtimeMs >= statSync(lock).mtimeMs;
}

/** `npm ci` when node_modules is missing or older than the lock. */
export async function ensureInstalled() {
  if (!installed()) {
    // --include=dev: NODE_ENV=production would leave out what builds and tests
    const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--prefer-offline'];
    await step('Installing packages (npm ci)', () => run(npm(), args, { cwd: root }));
  }
  writeFileSync(stamp, lockHash());
}

const npm = () => (process.platform === 'win32' ? 'npm.cmd' : 'npm');

if (process.argv[1] === fileURLToPath(import.meta.url)) await ensureInstalled();
