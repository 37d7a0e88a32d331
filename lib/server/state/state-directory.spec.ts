import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock, systemRandom } from '../../core/index.js';
import { DirectorySocket } from './directory-socket.js';
import { OWNER_TIMING } from './owner-file.js';
import { readState } from './saved-state.js';
import { StateDirectory, type StateDirectoryOptions } from './state-directory.js';

/** A hundredth of the real spans. */
const timing = {
  freshMs: OWNER_TIMING.freshMs / 100,
  settleMs: OWNER_TIMING.settleMs / 100,
  touchEveryMs: OWNER_TIMING.touchEveryMs / 100,
  sureMs: OWNER_TIMING.sureMs / 100,
};

describe('the state directory', () => {
  let folder: string;
  let directory: string;
  const left = new Set<StateDirectory>();

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'klock-state-'));
    directory = join(folder, 'state');
  });
  afterEach(async () => {
    for (const state of left) await state.close(false);
    left.clear();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = async (change: Partial<StateDirectoryOptions> = {}): Promise<StateDirectory> => {
    const state = await StateDirectory.open({
      directory,
      firstStart: false,
      maxLeaseMs: 60_000,
      defaultLeaseMs: 8_000,
      fenceBlock: 1_000n,
      clock: systemClock,
      random: systemRandom,
      timing,
      ...change,
    });
    left.add(state);
    return state;
  };
  const end = async (state: StateDirectory, clean: boolean): Promise<void> => {
    left.delete(state);
    await state.close(clean);
  };
  const saved = () => readState(join(directory, 'state.json'));

  it('[K-115] a directory this start creates is a first start, without quarantine', async () => {
    const state = await open();
    expect([state.start, state.quarantineMs, state.restart]).toEqual(['first', 0, 1]);
  });

  it('[K-115] after a clean end there is no quarantine; the mark is gone before anybody is served', async () => {
    await end(await open(), true);
    expect(await saved()).toMatchObject({ clean: true, restart: 1 });
    const state = await open();
    expect([state.start, state.quarantineMs, state.restart]).toEqual(['clean', 0, 2]);
    expect(await saved()).toMatchObject({ clean: false, restart: 2 });
  });

  it('[K-114] after an unclean end the quarantine is the longest lease and a margin', async () => {
    await end(await open(), false);
    const state = await open({ maxLeaseMs: 10_000 });
    expect([state.start, state.quarantineMs]).toEqual(['unclean', 66_000]);
    expect(await saved()).toMatchObject({ longestLeaseMs: 60_000 });
  });

  it('[K-114] the longest lease is lowered only when a quarantine has ended or after a clean end', async () => {
    await end(await open(), false);
    await end(await open({ maxLeaseMs: 1_000 }), false);
    const third = await open({ maxLeaseMs: 1_000 });
    expect(third.quarantineMs).toBe(66_000);
    await third.quarantineEnded(500);
    await end(third, false);
    const fourth = await open({ maxLeaseMs: 1_000 });
    expect(fourth.quarantineMs).toBe(1_100);
    await end(fourth, true);
    expect((await open({ maxLeaseMs: 500 })).covers(501)).toBe(false);
  });

  it('[K-114] a directory that exists without state is an unclean start, unless a first start is asked for', async () => {
    mkdirSync(directory);
    const empty = await open();
    expect([empty.start, empty.quarantineMs]).toEqual(['unclean', 66_000]);
    await end(empty, false);
    rmSync(join(directory, 'state.json'));
    const first = await open({ firstStart: true });
    expect([first.start, first.quarantineMs]).toEqual(['first', 0]);
  });

  it('[K-114] a state that is found counts, whatever firstStart says', async () => {
    await end(await open(), false);
    expect((await open({ firstStart: true })).start).toBe('unclean');
  });

  it('without a maximum, and without state, nobody can say how long to wait: refused', async () => {
    mkdirSync(directory);
    await expect(open({ maxLeaseMs: 0 })).rejects.toMatchObject({ code: 'BACKEND_MISCONFIGURED' });
    rmSync(directory, { recursive: true });
    const state = await open({ maxLeaseMs: 0 });
    expect([state.covers(8_000), state.covers(8_001)]).toEqual([true, false]);
    await state.coverLease(90_000);
    expect(state.covers(90_000)).toBe(true);
    await end(state, false);
    expect((await open({ maxLeaseMs: 0 })).quarantineMs).toBe(99_000);
  });

  it('[K-086] fences begin above every block reserved before, and above the time', async () => {
    const first = await open();
    expect(first.lastFence >= BigInt(Math.floor(Date.now() / 60_000)) * 60_000_000n).toBe(true);
    expect(first.reservedFence).toBe(first.lastFence + 1_000n);
    await first.reserveFences(first.lastFence + 10n ** 12n);
    await end(first, false);
    const second = await open();
    expect(second.lastFence).toBe(first.lastFence + 10n ** 12n);
  });

  it('[K-086] a wall clock set back does not bring fences back', async () => {
    const first = await open();
    await end(first, true);
    const behind = {
      ...systemClock,
      wallMs: () => 1_000,
      monoMs: () => systemClock.monoMs(),
      now: () => systemClock.now(),
    };
    const second = await open({
      clock: Object.assign(Object.create(systemClock) as typeof systemClock, behind),
    });
    expect(second.lastFence).toBe(first.reservedFence);
  });

  it('[K-086] [K-114] a directory that was given up is never written again: what its next owner wrote stands', async () => {
    const first = await open();
    await end(first, true);
    const second = await open();
    const stands = await saved();
    const late = [first.reserveFences(10n ** 18n), first.coverLease(999_999), first.quarantineEnded(1)];
    for (const write of late) await expect(write).rejects.toMatchObject({ code: 'BACKEND_STATE' });
    await second.abandon();
    await expect(second.quarantineEnded(1)).rejects.toMatchObject({ code: 'BACKEND_STATE' });
    expect(await saved()).toEqual(stands);
  });

  it('writes of one file never overtake each other', async () => {
    const state = await open();
    await Promise.all([5n, 3n, 9n, 7n].map((more) => state.reserveFences(state.lastFence + 1_000n + more)));
    expect((await saved())?.fence).toBe(state.lastFence + 1_009n);
  });

  it('a write that fails changes nothing, and a later one may succeed', async () => {
    const state = await open();
    const before = state.reservedFence;
    mkdirSync(join(directory, 'state.json.new'));
    await expect(state.reserveFences(before + 1n)).rejects.toThrow();
    expect(state.reservedFence).toBe(before);
    rmSync(join(directory, 'state.json.new'), { recursive: true });
    await state.reserveFences(before + 1n);
    expect(state.reservedFence).toBe(before + 1n);
  });

  it.each([
    ['', 'no JSON'],
    ['{"format":1', 'no JSON'],
    ['null', 'no object'],
    ['{"format":2}', 'format'],
    ['{"format":1,"restart":1,"fence":"1","longestLeaseMs":1}', 'clean'],
    ['{"format":1,"restart":-1,"fence":"1","longestLeaseMs":1,"clean":true}', 'restart'],
    ['{"format":1,"restart":1,"fence":1,"longestLeaseMs":1,"clean":true}', 'fence'],
    ['{"format":1,"restart":1,"fence":"9223372036854775808","longestLeaseMs":1,"clean":true}', 'fence'],
  ])('a state file with %j is refused, never taken for a new one', async (text, why) => {
    mkdirSync(directory);
    writeFileSync(join(directory, 'state.json'), text);
    const error = await open().catch((refused: Error) => refused);
    expect(error).toMatchObject({ code: 'BACKEND_STATE' });
    expect((error as Error).message).toContain(why);
    expect(readFileSync(join(directory, 'state.json'), 'utf8')).toBe(text);
    // The refusal lets the directory go: a start after the repair succeeds.
    rmSync(join(directory, 'state.json'));
    await open();
  });

  it('a path that cannot be a directory fails the start by name', async () => {
    writeFileSync(directory, '');
    await expect(open()).rejects.toMatchObject({ code: 'BACKEND_MISCONFIGURED' });
  });

  it('one server at a time: a second start is refused while the first lives', async () => {
    await open();
    await expect(open()).rejects.toMatchObject({ code: 'BACKEND_MISCONFIGURED' });
    chmodSync(directory, 0o700);
  });

  it('a path too long for a socket address is locked all the same', async () => {
    directory = join(folder, 'x'.repeat(120), 'y'.repeat(100));
    const first = await open();
    await expect(open()).rejects.toMatchObject({ code: 'BACKEND_MISCONFIGURED' });
    await end(first, true);
    expect((await open()).start).toBe('clean');
  });

  it('a socket left by a killed process is no obstacle', async () => {
    const { spawnSync } = await import('node:child_process');
    mkdirSync(directory);
    const script = `require('node:net').createServer().listen(${JSON.stringify(join(directory, 'lock.sock'))}, () => process.kill(process.pid, 'SIGKILL'))`;
    spawnSync(process.execPath, ['-e', script]);
    const socket = await DirectorySocket.hold(directory);
    await socket.release();
  });
});
