// Finds the programs of the stores that tests start (Redis, etcd, PostgreSQL), and fetches them where missing:
//   1. KLOCK_TEST_REDIS_BIN, KLOCK_TEST_ETCD_BIN, KLOCK_TEST_POSTGRES_BIN (the program or its folder)
//   2. PATH, and where Debian puts PostgreSQL
//   3. .cache/services, filled by an earlier run
//   4. Debian's packages: apt-get install as root, else download and unpack into .cache/services
// `node scripts/stores.mjs redis` prints the path of the program. Node's own modules only.
import { execFileSync } from 'node:child_process';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
} from 'node:fs';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './progress.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const cache = join(root, '.cache');
const services = join(cache, 'services');

const stores = {
  redis: { program: 'redis-server', also: [], package: 'redis-server' },
  etcd: { program: 'etcd', also: [], package: 'etcd-server' },
  postgres: { program: 'postgres', also: ['initdb'], package: 'postgresql' },
};

export const storeNames = Object.keys(stores);

export const variableOf = (name) => `KLOCK_TEST_${name.toUpperCase()}_BIN`;

/** The path of the store's program; fetches it when it is nowhere. Throws with what to install. */
export async function findStore(name) {
  const store = stores[name];
  if (!store) throw new Error(`unknown store ${name}: one of ${storeNames.join(', ')}`);
  const found = fromVariable(name, store) ?? fromFolders(store);
  if (found) return found;
  await exclusively(async () => {
    if (!fromFolders(store)) await fetchStore(name, store);
  });
  const fetched = fromFolders(store);
  if (!fetched)
    throw new Error(`${store.package} was installed but has no ${store.program}. ${advice(name, store)}`);
  return fetched;
}

function advice(name, { package: pkg, program }) {
  return `Install it by hand (Debian: apt-get install ${pkg}) or set ${variableOf(name)} to the path of ${program}.`;
}

function fromVariable(name, store) {
  const given = process.env[variableOf(name)];
  if (!given) return undefined;
  const folder = existsSync(given) && statSync(given).isDirectory() ? given : dirname(given);
  const found = inFolder(folder, store);
  if (!found) throw new Error(`${variableOf(name)}=${given}: no runnable ${store.program} there`);
  return found;
}

function fromFolders(store) {
  const path = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  for (const folder of [...path, ...debianPostgres('/'), join(services, 'bin')]) {
    const found = inFolder(folder, store);
    if (found) return found;
  }
  return undefined;
}

/** The program, if it and its companions are runnable beside each other (links are followed). */
function inFolder(folder, { program, also }) {
  const path = join(folder, program);
  if (!runnable(path)) return undefined;
  const complete = (dir) => also.every((name) => runnable(join(dir, name)));
  if (complete(folder)) return path;
  const real = realpathSync(path);
  return complete(dirname(real)) ? real : undefined;
}

function runnable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Debian keeps PostgreSQL's server programs off the PATH, one folder per version; the newest first. */
function debianPostgres(base) {
  const all = join(base, 'usr/lib/postgresql');
  if (!existsSync(all)) return [];
  const newestFirst = readdirSync(all).sort((a, b) => Number(b) - Number(a));
  return newestFirst.map((version) => join(all, version, 'bin'));
}

async function fetchStore(name, store) {
  try {
    execFileSync('apt-get', ['--version'], { stdio: 'ignore' });
  } catch {
    throw new Error(
      `${store.program} is not on this machine and there is no apt-get. ${advice(name, store)}`,
    );
  }
  try {
    if (process.getuid?.() === 0 && (await installedAsRoot(store))) return;
    await unpack(name, store);
  } catch (error) {
    throw new Error(`${store.program} could not be fetched. ${advice(name, store)}\n${error.message}`, {
      cause: error,
    });
  }
}

/** False where a container forbids installing: unpacking is tried next. */
async function installedAsRoot(store) {
  // RUNLEVEL=1 keeps the packages from starting their own daemons
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const install = () =>
    run('apt-get', ['install', '-y', '-q', '--no-install-recommends', store.package], { env });
  try {
    await install().catch(() => run('apt-get', ['update', '-q'], { env }).then(install));
    return true;
  } catch (error) {
    console.error(
      `apt-get install ${store.package} failed, unpacking it instead: ${lastLine(error.message)}`,
    );
    return false;
  }
}

const lastLine = (text) => text.trim().split('\n').at(-1);

/** Downloads the package and what it needs with apt's state in folders of our own, then unpacks beside each other. */
async function unpack(name, store) {
  const target = join(services, name);
  const debs = join(cache, 'debs', name);
  for (const folder of [target, debs]) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
  }
  const apt = aptWithOwnState();
  await apt(['update', '-q']);
  const plan = await apt(['-s', 'install', '--no-install-recommends', '-y', store.package]);
  const packages = [...plan.matchAll(/^Inst (\S+)/gm)].map((match) => match[1]);
  await apt(['download', '-q', ...packages], debs);
  for (const deb of readdirSync(debs)) await run('dpkg-deb', ['-x', join(debs, deb), target]);
  rmSync(debs, { recursive: true, force: true });
  for (const program of [store.program, ...store.also]) wrap(program, target);
}

function aptWithOwnState() {
  const state = join(cache, 'apt');
  for (const folder of ['lists/partial', 'cache/archives/partial'])
    mkdirSync(join(state, folder), { recursive: true });
  const own = [
    `Dir::State::Lists=${state}/lists`,
    `Dir::Cache=${state}/cache`,
    'Debug::NoLocking=1',
    'APT::Sandbox::User=root',
  ];
  return (args, cwd = state) =>
    run('apt-get', [...own.flatMap((option) => ['-o', option]), ...args], { cwd });
}

/** A script in .cache/services/bin that runs the unpacked program with its own libraries, keeping its pid. */
function wrap(program, target) {
  const folders = [join(target, 'usr/bin'), join(target, 'usr/sbin'), ...debianPostgres(target)];
  const path = folders.map((folder) => join(folder, program)).find((candidate) => runnable(candidate));
  if (!path) throw new Error(`no ${program} in the unpacked packages`);
  const script = `#!/bin/sh\nLD_LIBRARY_PATH='${libraryFolders(target).join(':')}' exec '${path}' "$@"\n`;
  mkdirSync(join(services, 'bin'), { recursive: true });
  writeFileSync(join(services, 'bin', program), script, { mode: 0o755 });
}

function libraryFolders(target) {
  return readdirSync(target, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && /\.so(\.|$)/.test(entry.name))
    .map((entry) => entry.parentPath)
    .filter((folder, index, all) => all.indexOf(folder) === index);
}

/** One fetch at a time in a checkout: several test workers may ask at once. */
async function exclusively(work) {
  const lock = join(cache, 'stores.lock');
  mkdirSync(cache, { recursive: true });
  for (const until = Date.now() + 300_000; !taken(lock); await new Promise((r) => setTimeout(r, 200))) {
    if (Date.now() > until)
      throw new Error(`another process has been fetching stores for 5 minutes; is ${lock} stale?`);
  }
  try {
    await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function taken(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    if (ownerIsGone(lock)) rmSync(lock, { force: true });
    return false;
  }
}

function ownerIsGone(lock) {
  try {
    process.kill(Number(readFileSync(lock, 'utf8')), 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log(await findStore(process.argv[2]));
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
