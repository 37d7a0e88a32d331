// `nest build` by the bundlers named as arguments: beside node_modules as Nest does it by itself, and whole, run in a
// folder with nothing else in it. [B-082]
import { spawnSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const COMPILER = { webpack: { webpack: true }, rspack: { builder: 'rspack' } };
const CONFIG_FLAG = { webpack: '--webpackPath', rspack: '--rspackPath' };

function node(args, cwd) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: 'utf8' });
  return { failed: status !== 0, output: stdout + stderr };
}

function build(bundler, config) {
  rmSync('dist', { recursive: true, force: true });
  writeFileSync('nest-cli.json', JSON.stringify({ sourceRoot: 'src', compilerOptions: COMPILER[bundler] }));
  const flags = config === undefined ? [] : [CONFIG_FLAG[bundler], config];
  const { failed, output } = node(['node_modules/@nestjs/cli/bin/nest.js', 'build', ...flags]);
  if (failed) throw new Error(`nest build (${bundler}) failed:\n${output}`);
}

/** What was built, alone. */
function runElsewhere() {
  const folder = mkdtempSync(join(tmpdir(), 'klock-bundled-'));
  try {
    // Below the temporary folder no node_modules is ever looked up.
    renameSync('dist', join(folder, 'nothing else hier'));
    return node(['main.js'], join(folder, 'nothing else hier'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function expectRun(what, { failed, output }) {
  if (failed || output.trim() !== 'locked and released') throw new Error(`${what}:\n${output}`);
}

for (const bundler of process.argv.slice(2)) {
  build(bundler);
  expectRun(`bundled by ${bundler} beside node_modules`, node(['dist/main.js']));
  build(bundler, 'whole.cjs');
  expectRun(`bundled whole by ${bundler}`, runElsewhere());
  build(bundler, 'without-grpc.cjs');
  const { failed, output } = runElsewhere();
  if (!failed || !output.includes("Cannot find module '@grpc/grpc-js'"))
    throw new Error(
      `bundled by ${bundler} without @grpc/grpc-js, it should have failed and said so:\n${output}`,
    );
}
