import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { transform as bySwc } from '@swc/core';
import { transform as byEsbuild } from 'esbuild';
import ts from 'typescript';
import { reapFolder } from '../support/reaper.js';

const exec = promisify(execFile);
/** Below the repository, so that packages resolve. */
const FOLDER = join(process.cwd(), '.build', `compilers-${process.pid}`);
const PROGRAM = readFileSync('test/e2e/nest-compilers.child.ts', 'utf8');
const STANDARD = `
import { Locked } from 'klock';
const lock = Locked('k');
const define = {
  method: () => class { @lock async m() {} },
  private: () => class { @lock async #m() {} },
  static: () => class { @lock static async m() {} },
  field: () => class { @lock m = async () => {} },
  getter: () => class { @lock get m() { return 1; } },
  class: () => { @lock class C {} return C; },
};
const told = {};
for (const [what, make] of Object.entries(define)) {
  try { make(); told[what] = 'accepted'; } catch (error) { told[what] = [error.code, error.message]; }
}
process.stdout.write(JSON.stringify(told));
`;

type Compile = (source: string) => Promise<string>;

const tsc =
  (options: ts.CompilerOptions): Compile =>
  (source) =>
    Promise.resolve(
      ts.transpileModule(source, {
        fileName: 'program.ts',
        compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, ...options },
      }).outputText,
    );
const swc =
  (transform: object): Compile =>
  async (source) => {
    const parser = { syntax: 'typescript', decorators: true } as const;
    const jsc = { parser, target: 'es2022', keepClassNames: true, transform } as const;
    return (await bySwc(source, { jsc, module: { type: 'es6' }, swcrc: false })).code;
  };
const esbuild =
  (experimentalDecorators: boolean): Compile =>
  async (source) => {
    const tsconfigRaw = { compilerOptions: { experimentalDecorators } };
    return (await byEsbuild(source, { loader: 'ts', target: 'es2022', keepNames: true, tsconfigRaw })).code;
  };

const legacy: Record<string, Compile> = {
  tsc: tsc({ experimentalDecorators: true, emitDecoratorMetadata: true }),
  'tsc, without type metadata and with assigned fields': tsc({
    experimentalDecorators: true,
    useDefineForClassFields: false,
  }),
  swc: swc({ legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: true }),
  'swc, without type metadata': swc({ legacyDecorator: true }),
  esbuild: esbuild(true),
};
const standard: Record<string, Compile> = {
  tsc: tsc({}),
  swc: swc({ decoratorVersion: '2022-03' }),
  esbuild: esbuild(false),
};

let files = 0;
async function run(compile: Compile, source: string): Promise<unknown> {
  mkdirSync(FOLDER, { recursive: true });
  reapFolder(FOLDER);
  const file = join(FOLDER, `${(files += 1)}.mjs`);
  writeFileSync(file, await compile(source));
  const { NODE_OPTIONS: _, ...env } = process.env;
  return JSON.parse((await exec(process.execPath, [file], { env, timeout: 30_000 })).stdout);
}

const refusedWith = (reason: RegExp): unknown => ['UNSUPPORTED_TARGET', expect.stringMatching(reason)];

describe('an application compiled by', () => {
  it.each(Object.keys(legacy))(
    '[B-073] %s runs locked methods of every shape under their locks, and refuses every other target when its class is defined, naming it',
    async (tool) => {
      expect(await run(legacy[tool]!, PROGRAM)).toEqual({
        ran: {
          handler: true,
          promise: '7 true true',
          inherited: '72 true true',
          observable: [true, true],
          inferred: [true],
          steps: [true, true],
          symbol: true,
        },
        left: 0,
        refused: {
          getter: refusedWith(/Target\.x is an accessor/),
          setter: refusedWith(/Target\.x is an accessor/),
          field: refusedWith(/Target\.x is a field/),
          static: refusedWith(/Target\.x is static/),
          class: refusedWith(/Target is a class/),
          constructorParameter: refusedWith(/Target is a class|decorator on a parameter/),
          parameter: refusedWith(/Target\.x has the decorator on a parameter/),
          generator: refusedWith(/Target\.x is a synchronous generator/),
        },
      });
    },
    40_000,
  );

  it.each(Object.keys(standard))(
    '[B-073] %s with standard decorators is refused when the class is defined, with the compiler option it needs',
    async (tool) => {
      const told = (await run(standard[tool]!, STANDARD)) as Record<string, unknown>;
      expect(Object.keys(told)).toHaveLength(6);
      for (const [what, said] of Object.entries(told)) {
        const kind = what === 'private' || what === 'static' ? 'method' : what;
        expect([what, said]).toEqual([what, refusedWith(new RegExp(`${kind} .*experimentalDecorators`))]);
      }
    },
    20_000,
  );
});
