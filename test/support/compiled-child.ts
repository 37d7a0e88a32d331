import { transformFile } from '@swc/core';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Child, type ChildOptions } from './child.js';
import { reapFolder } from './reaper.js';

/** Below the repository, so that `klock` and every package resolve as they do for dist/ itself. */
const FOLDER = join('.build', `children-${process.pid}`);

/**
 * Starts a `*.child.ts` as a process of its own, decorators and all: what Jest cannot load (CommonJS packages that
 * require ES modules), and what must be a process. It sees klock as dist/ has it.
 */
export async function startCompiled(script: string, options: ChildOptions = {}): Promise<Child> {
  let compiling = compiled.get(script);
  if (compiling === undefined) compiled.set(script, (compiling = compile(script)));
  return await Child.start(await compiling, options);
}

/** Once for each script: children that start together share the file. */
const compiled = new Map<string, Promise<string>>();

async function compile(script: string): Promise<string> {
  const { code } = await transformFile(script, {
    jsc: {
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: true },
      target: 'es2022',
      keepClassNames: true,
    },
    module: { type: 'es6' },
    swcrc: false,
  });
  const support = pathToFileURL(join(process.cwd(), 'test/support')).href;
  const path = join(FOLDER, `${basename(script, '.ts')}.mjs`);
  mkdirSync(FOLDER, { recursive: true });
  reapFolder(join(process.cwd(), FOLDER));
  // Whole at once: a child of an earlier test file may be reading it, and an empty module ends without a word.
  writeFileSync(`${path}.new`, code.replaceAll(/(['"])\.\.\/support\//g, `$1${support}/`));
  renameSync(`${path}.new`, path);
  return path;
}
