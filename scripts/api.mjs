// The public exports of every entry point with their kinds, as text: `npm run api` prints them, `npm run api --
// --write` puts them into test/api/exports.txt, which test/api/exports.spec.ts compares. A change of that file
// is a change of the public API, and is reviewed as one.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { entryNames, modulePath } from './entries.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

const KINDS = [
  [ts.SymbolFlags.Class, 'class'],
  [ts.SymbolFlags.Function, 'function'],
  [ts.SymbolFlags.Enum, 'enum'],
  [ts.SymbolFlags.Variable, 'const'],
  [ts.SymbolFlags.Interface, 'interface'],
  [ts.SymbolFlags.TypeAlias, 'type'],
  [ts.SymbolFlags.Namespace, 'namespace'],
];

/** A name may be several things at once: an interface and a const, say. */
function kindOf(checker, symbol) {
  const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const typeOnly = symbol.declarations?.some((node) => ts.isTypeOnlyExportDeclaration(node)) ?? false;
  const kinds = KINDS.filter(([flag]) => target.flags & flag).map(([, kind]) => kind);
  return `${typeOnly && kinds.includes('class') ? 'type-only ' : ''}${kinds.join(' ') || 'unknown'}`;
}

function exportsOf(program, file) {
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(file));
  if (!module) return [];
  return checker
    .getExportsOfModule(module)
    .map((symbol) => `  ${symbol.getName()}: ${kindOf(checker, symbol)}`)
    .sort();
}

function describe() {
  const entries = entryNames().map((name) => ({ name, file: join(root, 'lib', `${modulePath(name)}.ts`) }));
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const program = ts.createProgram(entries.map((entry) => entry.file).filter(existsSync), options);
  return entries
    .map(({ name, file }) =>
      [name === '' ? 'klock' : `klock/${name}`, ...exportsOf(program, file)].join('\n'),
    )
    .join('\n\n')
    .concat('\n');
}

if (process.argv.includes('--write')) writeFileSync(join(root, 'test/api/exports.txt'), describe());
else process.stdout.write(describe());
