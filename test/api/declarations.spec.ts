import { existsSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join } from 'node:path';
import { ENTRY_TABLE } from './entry-table.js';
import { entryPoints } from './pack.js';

const SPECIFIER = /(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g;
const REFERENCE = /<reference types="([^"]+)"/g;

/** The packages that a declaration file names, itself or through files of ours. */
function packagesNamed(file: string, seen = new Set<string>()): Set<string> {
  const packages = new Set<string>();
  if (seen.has(file)) return packages;
  seen.add(file);
  const text = readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
  for (const [, name] of [...text.matchAll(SPECIFIER), ...text.matchAll(REFERENCE)]) {
    if (!name!.startsWith('.')) packages.add(packageOf(name!));
    else for (const found of packagesNamed(declaration(file, name!), seen)) packages.add(found);
  }
  return packages;
}

function declaration(from: string, specifier: string): string {
  const path = join(dirname(from), specifier);
  const candidates = [path.replace(/\.js$/, '.d.ts'), `${path}.d.ts`, join(path, 'index.d.ts')];
  const found = candidates.find((candidate) => existsSync(candidate));
  if (!found) throw new Error(`${from} names ${specifier}, which is not there`);
  return found;
}

const packageOf = (name: string): string =>
  name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');
const isOfNode = (name: string): boolean =>
  name.startsWith('node:') || name === 'node' || builtinModules.includes(name);

describe('the types of an entry point', () => {
  it.each(entryPoints().flatMap((entry) => ['esm', 'cjs'].map((kind) => [entry, kind] as const)))(
    'name only the packages the design allows: %s (%s)',
    (entry, kind) => {
      const { loads, types = [] } = ENTRY_TABLE[entry]!;
      const module = entry === 'klock' ? 'index' : entry.replace('klock/', 'entries/');
      const named = packagesNamed(`dist/${kind}/${module}.d.ts`);
      const foreign = [...named].filter((name) => !isOfNode(name) && ![...loads, ...types].includes(name));
      expect(foreign).toEqual([]);
    },
  );
});
