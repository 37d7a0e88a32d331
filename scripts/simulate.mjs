// `npm run simulate -- --seeds 1000 --from 1`: whole runs of server and clients on virtual time, seed after seed.
// Ends with 1 and the shortened story of the first run that breaches an invariant. Nightly: `--seeds 10000 --from <a new number>`.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));

function wholeNumber(name, text) {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  console.error(`--${name} must be a whole number, 0 or more, got ${JSON.stringify(text)}`);
  process.exit(2);
}

/** The simulator is no part of the package's build: it is put together here, from the sources. */
async function bundle() {
  const { build } = await import('esbuild');
  const outfile = join(root, '.cache', 'simulate.mjs');
  mkdirSync(join(root, '.cache'), { recursive: true });
  await build({
    entryPoints: [join(root, 'test/simulation/run-seeds.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    packages: 'external',
    logLevel: 'warning',
  });
  return import(pathToFileURL(outfile).href);
}

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '1000' }, from: { type: 'string', default: '1' } },
});
const range = { from: wholeNumber('from', values.from), seeds: wholeNumber('seeds', values.seeds) };
const { runSeeds } = await bundle();
process.exitCode = (await runSeeds(range, (line) => console.log(line))) ? 0 : 1;
