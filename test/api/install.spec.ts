import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'klock-install-')));
  mkdirSync(join(folder, 'clone/scripts'), { recursive: true });
  for (const script of ['install.mjs', 'progress.mjs'])
    copyFileSync(join('scripts', script), join(folder, 'clone/scripts', script));
  writeFileSync(join(folder, 'clone/package-lock.json'), '{}');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('installing refuses a node_modules that is a link, says so, and leaves what it points to as it is', () => {
  const other = join(folder, 'other/node_modules');
  mkdirSync(other, { recursive: true });
  writeFileSync(join(other, 'precious'), 'of another checkout');
  symlinkSync(other, join(folder, 'clone/node_modules'));
  const { status, stderr } = spawnSync(process.execPath, [join(folder, 'clone/scripts/install.mjs')], {
    encoding: 'utf8',
  });
  expect(status).toBe(1);
  expect(stderr.trim()).toBe(
    `node_modules is a symbolic link to ${other}. Installing would empty what it points to. Remove the link (rm node_modules) and run this again.`,
  );
  expect(readdirSync(other)).toEqual(['precious']);
});

it('a node_modules that is a folder and up to date is taken as it is', () => {
  mkdirSync(join(folder, 'clone/node_modules'));
  writeFileSync(join(folder, 'clone/node_modules/.package-lock.json'), '{}');
  const { status, stdout } = spawnSync(process.execPath, [join(folder, 'clone/scripts/install.mjs')], {
    encoding: 'utf8',
  });
  expect([status, stdout]).toEqual([0, '']);
});
