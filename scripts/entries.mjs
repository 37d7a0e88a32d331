// The entry points are the files: lib/index.ts is `klock`, lib/entries/<name>.ts is `klock/<name>`.
// This writes the matching `exports` and `typesVersions` of package.json; with --check it only compares.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Entry names, `''` for the root; `testing/nest` for lib/entries/testing/nest.ts. */
export function entryNames() {
  const names = readdirSync(`${root}lib/entries`, { recursive: true })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
    .map((file) => file.slice(0, -'.ts'.length));
  return ['', ...names.sort()];
}

/** The module of an entry below dist/esm and dist/cjs, without its ending. */
export function modulePath(name) {
  return name === '' ? 'index' : `entries/${name}`;
}

function conditions(kind, name) {
  const path = `./dist/${kind}/${modulePath(name)}`;
  return { types: `${path}.d.ts`, default: `${path}.js` };
}

function wanted() {
  const names = entryNames();
  const exports = {};
  for (const name of names) {
    const key = name === '' ? '.' : `./${name}`;
    exports[key] = { import: conditions('esm', name), require: conditions('cjs', name) };
  }
  exports['./package.json'] = './package.json';
  // node10 resolution knows no `exports`, only this
  const types = names.slice(1).map((name) => [name, [conditions('cjs', name).types]]);
  return { exports, typesVersions: { '*': Object.fromEntries(types) } };
}

function main() {
  const file = `${root}package.json`;
  const manifest = JSON.parse(readFileSync(file, 'utf8'));
  const next = {};
  for (const key of Object.keys(manifest)) {
    if (key === 'exports') Object.assign(next, wanted());
    else if (key !== 'typesVersions') next[key] = manifest[key];
  }
  if (JSON.stringify(next) === JSON.stringify(manifest)) return;
  if (process.argv.includes('--check')) {
    console.error('package.json does not list the entry points of lib/entries: run `npm run entries`');
    process.exitCode = 1;
    return;
  }
  writeFileSync(file, `${JSON.stringify(next, null, 2)}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
