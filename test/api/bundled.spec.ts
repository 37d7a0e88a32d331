import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build, type Format } from 'esbuild';
import { temporaryFolder } from './pack.js';

const exec = promisify(execFile);
const NEST = ['@nestjs/common', '@nestjs/core', 'rxjs', 'reflect-metadata'];

/** Boots a server and a client of it, and passes one lock round; over memory and through Nest where it is there. */
const PROGRAM = `
async function main() {
  const server = new LockServer({ address: '127.0.0.1:0' });
  await server.start();
  const klock = createKlock({ driver: klockDriver({ url: 'klock://' + server.address }) });
  const lock = await klock.acquire(['tenant', 'resource']);
  if (!lock.held || !(await klock.isLocked('tenant'))) throw new Error('not held');
  if ((await lock.release()) !== 'released') throw new Error('not released');
  await klock.close();
  await server.close();
  console.log('round trip');
}
main().catch((error) => { console.error(error); process.exitCode = 1; });
`;
const ENTRIES = { createKlock: 'klock/core', klockDriver: 'klock/client', LockServer: 'klock/server' };
const imports = Object.entries(ENTRIES).map(([name, from]) => `import { ${name} } from '${from}';`);
const requires = Object.entries(ENTRIES).map(([name, from]) => `const { ${name} } = require('${from}');`);
const ESM = imports.join('\n') + PROGRAM;
const CJS = requires.join('\n') + PROGRAM;

/** A whole application: it hosts the lock server, is its client as well, and answers HTTP under a lock. */
const APPLICATION = `
import 'reflect-metadata';
import { Controller, Get, Module, Param } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CurrentLock, KlockModule, Locked, getKlockToken, type Klock, type LockHandle } from 'klock';
import { LockServer } from 'klock/server';

@Controller()
class Invoices {
  @Get('close/:id')
  @Locked('invoice:{0}')
  async close(@Param('id') id: string, @CurrentLock() lock?: LockHandle): Promise<string> {
    return id + ' ' + lock?.held;
  }
}

async function main(): Promise<void> {
  const server = new LockServer({ address: '127.0.0.1:0' });
  await server.start();
  @Module({
    imports: [
      KlockModule.forRoot({ url: 'klock://' + server.address }),
      KlockModule.forRoot({ name: 'hosted', server: { address: '127.0.0.1:0', firstStart: true } }),
    ],
    controllers: [Invoices],
  })
  class App {}
  const app = await NestFactory.create(App, { logger: false });
  await app.listen(0, '127.0.0.1');
  const lock = await app.get<Klock>(getKlockToken('hosted')).acquire('own');
  const response = await fetch((await app.getUrl()) + '/close/7', { headers: { connection: 'close' } });
  console.log(lock.held, response.status, await response.text());
  await app.close();
  await server.close();
}
void main();
`;
/** What Nest looks for by itself, and does without. */
const NOT_INSTALLED = [
  '@nestjs/microservices',
  '@nestjs/microservices/*',
  '@nestjs/websockets',
  '@nestjs/websockets/*',
  'class-validator',
  'class-transformer',
];

/** A package and all it depends on, from this repository's node_modules. */
function copyClosure(names: readonly string[], target: string, known = new Set<string>()): void {
  for (const name of names) {
    if (known.has(name)) continue;
    known.add(name);
    cpSync(join('node_modules', name), join(target, name), { recursive: true, dereference: true });
    const { dependencies } = JSON.parse(readFileSync(join('node_modules', name, 'package.json'), 'utf8')) as {
      dependencies?: Record<string, string>;
    };
    copyClosure(Object.keys(dependencies ?? {}), target, known);
  }
}

/** What a container image gets: the build, the manifest and the production dependencies, in a path that is no plain word. */
function deployed(): string {
  const folder = join(temporaryFolder('deployed'), 'mit Leerzeichen & ünï-コード');
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, 'klock'), { recursive: true });
  for (const part of ['package.json', 'dist/esm', 'dist/cjs'])
    cpSync(part, join(modules, 'klock', part), { recursive: true });
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    dependencies: Record<string, string>;
  };
  copyClosure(Object.keys(dependencies), modules);
  writeFileSync(join(folder, 'main.mjs'), ESM);
  writeFileSync(join(folder, 'main.cjs'), CJS);
  return folder;
}

describe('the built package, copied with its production dependencies into a folder with spaces and unicode in its path', () => {
  let folder: string;
  beforeAll(() => {
    folder = deployed();
  });

  const runIn = async (cwd: string, ...args: string[]): Promise<string> =>
    (await exec(process.execPath, args, { cwd, env: { PATH: process.env.PATH } })).stdout.trim();

  it.each(['main.mjs', 'main.cjs'])(
    '[B-082] boots server and client from another working directory, and reads nothing outside it (%s)',
    async (program) => {
      const permissions = ['--experimental-permission', '--no-warnings', `--allow-fs-read=${folder}`];
      // The permission model wants the real path of the program's folder and everything in it.
      const args = [...permissions, `--allow-fs-read=${dirname(folder)}`, join(folder, program)];
      expect(await runIn('/', ...args)).toBe('round trip');
    },
    30_000,
  );

  it.each<[Format, string]>([
    ['esm', 'main.mjs'],
    ['cjs', 'main.cjs'],
  ])(
    '[B-082] is bundled by esbuild into one file that runs in an empty folder (%s)',
    async (format, program) => {
      const empty = join(temporaryFolder('bundle'), 'nothing else hier');
      mkdirSync(empty);
      const outfile = join(empty, program);
      const { warnings } = await build({
        entryPoints: [join(folder, program)],
        bundle: true,
        platform: 'node',
        format,
        outfile,
        logLevel: 'silent',
        // esbuild's own rule for CommonJS dependencies in ES modules: @grpc/grpc-js requires what Node brings along.
        ...(format === 'esm' && {
          banner: {
            js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
          },
        }),
      });
      expect(warnings).toEqual([]);
      expect(await runIn(empty, outfile)).toBe('round trip');
    },
    60_000,
  );

  // A module that is imported here and by import() elsewhere is begun at its first use: a manifest that calls it free of
  // side effects makes esbuild leave that out.
  it.each<Format>(['esm', 'cjs'])(
    '[B-082] is bundled by esbuild with a whole Nest application that hosts a server and is a client (%s)',
    async (format) => {
      const sources = temporaryFolder('nest-application');
      writeFileSync(join(sources, 'main.ts'), APPLICATION);
      const empty = join(temporaryFolder('bundle'), 'nothing else hier');
      mkdirSync(empty);
      const outfile = join(empty, format === 'esm' ? 'main.mjs' : 'main.cjs');
      await build({
        entryPoints: [join(sources, 'main.ts')],
        nodePaths: [join(folder, 'node_modules'), resolve('node_modules')],
        bundle: true,
        platform: 'node',
        format,
        outfile,
        keepNames: true,
        external: NOT_INSTALLED,
        tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
        logLevel: 'silent',
        banner: {
          js:
            format === 'esm'
              ? "import { createRequire as requireOfNode } from 'node:module'; const require = requireOfNode(import.meta.url);"
              : '',
        },
      });
      expect(await runIn(empty, outfile)).toBe('true 200 7 true');
    },
    60_000,
  );

  it('[B-082] names every back end of KlockModule so that a bundler finds it', async () => {
    const source = join(temporaryFolder('nest-bundle'), 'main.ts');
    writeFileSync(source, "import { KlockModule } from 'klock';\nconsole.log(typeof KlockModule.forRoot);\n");
    const { metafile } = await build({
      entryPoints: [source],
      nodePaths: [join(folder, 'node_modules')],
      bundle: true,
      platform: 'node',
      format: 'esm',
      write: false,
      metafile: true,
      logLevel: 'silent',
      external: NEST,
    });
    const bundled = Object.keys(metafile.inputs).join('\n');
    for (const part of [
      'drivers/redis/index',
      'drivers/etcd/index',
      'drivers/klock/index',
      'nest-server/index',
    ]) {
      expect(bundled).toContain(part);
    }
  }, 60_000);
});
