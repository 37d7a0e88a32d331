import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

describe('the public exports', () => {
  it('are those of test/api/exports.txt, name by name and kind by kind (`npm run api -- --write` after a wanted change)', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['scripts/api.mjs']);
    expect(stdout).toBe(readFileSync('test/api/exports.txt', 'utf8'));
  }, 60_000);
});
