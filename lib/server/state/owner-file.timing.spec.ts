import { mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../core/index.js';
import { OWNER_TIMING, OwnerFile } from './owner-file.js';

/** A twentieth of the real spans. */
const timing = {
  freshMs: OWNER_TIMING.freshMs / 20,
  settleMs: OWNER_TIMING.settleMs / 20,
  touchEveryMs: OWNER_TIMING.touchEveryMs / 20,
  sureMs: OWNER_TIMING.sureMs / 20,
};

describe('the owner file', () => {
  let folder: string;
  const owners = new Set<OwnerFile>();

  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'klock-owner-'))));
  afterEach(async () => {
    for (const owner of owners) await owner.release(true);
    owners.clear();
    rmSync(folder, { recursive: true, force: true });
  });

  const claim = async (id: string): Promise<OwnerFile> => {
    const owner = await OwnerFile.claim(folder, id, systemClock, timing);
    owners.add(owner);
    return owner;
  };
  const watch = (owner: OwnerFile) => {
    const seen = { sure: 0, lost: 0, trouble: 0 };
    owner.watch({
      onSure: () => (seen.sure += 1),
      onLost: () => (seen.lost += 1),
      onTrouble: () => (seen.trouble += 1),
    });
    return seen;
  };
  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

  it('a living owner is not displaced', async () => {
    watch(await claim('a'));
    await expect(claim('b')).rejects.toMatchObject({ code: 'BACKEND_MISCONFIGURED' });
    expect(readFileSync(join(folder, 'owner'), 'utf8')).toBe('a');
  });

  it('the fresh mark of a dead owner is waited out, then taken over', async () => {
    await claim('a');
    const start = performance.now();
    await claim('b');
    expect(performance.now() - start).toBeGreaterThanOrEqual(timing.freshMs);
    expect(readFileSync(join(folder, 'owner'), 'utf8')).toBe('b');
  });

  it('of two that claim at once at most one goes on', async () => {
    const results = await Promise.allSettled([claim('a'), claim('b')]);
    expect(results.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(1);
  });

  it('the owner looks again and again, and ends when another id is there', async () => {
    const seen = watch(await claim('a'));
    await pause(5 * timing.touchEveryMs);
    expect(seen.sure).toBeGreaterThan(2);
    writeFileSync(join(folder, 'owner'), 'b');
    await pause(3 * timing.touchEveryMs);
    expect(seen.lost).toBe(1);
    const { sure } = seen;
    await pause(3 * timing.touchEveryMs);
    expect(seen).toEqual({ sure, lost: 1, trouble: 0 });
  });

  it('the owner ends when the file is gone, and a look that fails is no look', async () => {
    const seen = watch(await claim('a'));
    await pause(2 * timing.touchEveryMs);
    // In one step, or a look could fall between and find nothing.
    symlinkSync('.', join(folder, 'next'));
    renameSync(join(folder, 'next'), join(folder, 'owner'));
    await pause(3 * timing.touchEveryMs);
    expect(seen.trouble).toBeGreaterThan(0);
    expect(seen.lost).toBe(0);
    rmSync(join(folder, 'owner'));
    await pause(3 * timing.touchEveryMs);
    expect(seen.lost).toBe(1);
  });

  it('release removes the file only while it is ours', async () => {
    const owner = await claim('a');
    writeFileSync(join(folder, 'owner'), 'b');
    await owner.release(true);
    expect(readFileSync(join(folder, 'owner'), 'utf8')).toBe('b');
  });
});
