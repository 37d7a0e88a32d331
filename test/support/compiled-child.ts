import { transformFile } from '@swc/core';
import { mkdirSync, writeFileSync } from 'node:fs';
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
  return await Child.start(await compiled(script), options);
}

async function compiled(script: string): Promise<string> {
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
  writeFileSync(path, code.replaceAll(/(['"])\.\.\/support\//g, `$1${support}/`));
  return path;
}
