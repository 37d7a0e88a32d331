// `npm start`: needs a clone, Node and npm. Installs and builds where that is needed, then runs the demonstration.
// Node's own modules only, until the installation is done.
import { fileURLToPath } from 'node:url';
import { ensureInstalled } from '../scripts/install.mjs';
import { run, step } from '../scripts/progress.mjs';

const HELP = `npm start              installs, builds, shows what klock does, then stays up for you to try
npm start -- --once    the same, but ends after the demonstration: 0, or 1 if a statement was not true
npm start -- --up      starts everything and leaves the demonstration out
npm start -- --help    this text

Environment:
  PORT             port of replica A, replica B takes the next one; default: two free ports
  DATABASE_URL     a PostgreSQL server to use; default: an embedded one in a process of its own.
                   The tables are put into the schema klock_sample.
  KLOCK_TTL_MS     lease of the replicas' locks in milliseconds, 500 to 10000; default 2000

Ctrl-C stops everything.`;

const KNOWN = ['--once', '--up', '--help'];
const demonstration = new URL('../dist/sample-app/demo/main.js', import.meta.url).href;
const root = fileURLToPath(new URL('..', import.meta.url));

async function main(args) {
  const unknown = args.find((word) => !KNOWN.includes(word));
  if (unknown !== undefined || args.includes('--help')) {
    if (unknown !== undefined) console.error(`npm start knows no ${unknown}\n`);
    console.log(HELP);
    process.exitCode = unknown === undefined ? 0 : 1;
    return;
  }
  const shell = process.ppid;
  await ensureInstalled();
  await step('Building (npm run build)', () => run('npm', ['run', '-s', 'build'], { cwd: root }));
  // npm was ended meanwhile, and nobody is left who could end what would be started now
  if (process.ppid !== shell) return;
  await import(demonstration);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
