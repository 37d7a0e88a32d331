import { pause, isLockError, type Klock, type LockHandle } from '../core/index.js';
import type { Terminal } from './command.js';
import { show, type DemoStage } from './demo-stage.js';

/** One of the scenarios: shows something on a live server. @returns what was seen. @throws NotShown */
export interface Scenario {
  readonly title: string;
  run(stage: DemoStage, terminal: Terminal): Promise<string>;
}

type Key = readonly [string, string];

const BUSY_WAIT_MS = 300;
const LOCAL_TTL_MS = 300;
/** What a turn of the event loop and a slow machine may add. */
const SLACK_MS = 2_000;

/** Keys of one run: two demonstrations on one server do not meet. */
function keyOf(name: string, { random }: Terminal): Key {
  return ['klock-demo', `${name}-${random.id().slice(0, 8)}`];
}

async function codeOf(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt;
    return 'granted';
  } catch (error) {
    if (isLockError(error)) return error.code;
    throw error;
  }
}

export const basic: Scenario = {
  title: 'S1 a lock is taken, held and given back',
  run: async (stage, terminal) => {
    const lock = await stage.client('s1').acquire(keyOf('basic', terminal));
    show(lock.held, 'the handle of a fresh grant says that it is not held');
    show(lock.fence > 0n, `the fence is ${lock.fence}`);
    const outcome = await lock.release();
    show(outcome === 'released', `the release ended with '${outcome}'`);
    show(!lock.held, 'the handle says that it is held after its release');
    return `fence ${lock.fence}`;
  },
};

export const contention: Scenario = {
  title: 'S2 a second client waits, is told that the lock is busy, and costs the holder nothing',
  run: async (stage, terminal) => {
    const key = keyOf('contention', terminal);
    const holder = await stage.client('s2-holder').acquire(key);
    const startedMs = terminal.clock.monoMs();
    const code = await codeOf(stage.client('s2-second').acquire(key, { waitMs: BUSY_WAIT_MS }));
    const waitedMs = Math.round(terminal.clock.monoMs() - startedMs);
    show(code === 'LOCK_TIMEOUT', `the second client got ${code} instead of LOCK_TIMEOUT`);
    show(holder.held, 'the first holder has lost its lock');
    await holder.release();
    return `LOCK_TIMEOUT after ${waitedMs} ms, the first still held`;
  },
};

export const reacquire: Scenario = {
  title: 'S3 a released lock goes to the next client, with a larger fence',
  run: async (stage, terminal) => {
    const key = keyOf('reacquire', terminal);
    const first = await stage.client('s3-first').acquire(key);
    const waiting = stage.client('s3-second').acquire(key, { waitMs: SLACK_MS + BUSY_WAIT_MS });
    // looked at below; a failure meanwhile must not end the process
    waiting.catch(() => undefined);
    await pause(terminal.clock, BUSY_WAIT_MS);
    await first.release();
    const second = await waiting;
    show(second.fence > first.fence, `fence ${second.fence} does not exceed ${first.fence}`);
    await second.release();
    return `fence ${first.fence}, then ${second.fence}`;
  },
};

export const localExpiry: Scenario = {
  title: 'S4 a handle whose local time is over says so itself, and the lock is free again',
  run: async (stage, terminal) => {
    const key = keyOf('local-ttl', terminal);
    const lock = await stage.client('s4-holder').acquire(key, { localTtlMs: LOCAL_TTL_MS });
    await ended(lock, terminal);
    const end = await lock.done;
    show(end.end === 'lost', `the handle ended as '${end.end}' instead of lost`);
    show(lock.signal.aborted, 'the signal of the lost lock did not abort');
    const next = await stage.client('s4-next').acquire(key, { waitMs: SLACK_MS });
    show(next.fence > lock.fence, `fence ${next.fence} does not exceed ${lock.fence}`);
    await next.release();
    return `lost after ${LOCAL_TTL_MS} ms (${end.end === 'lost' ? end.code : ''}), then taken by the next`;
  },
};

async function ended(lock: LockHandle, { clock }: Terminal): Promise<void> {
  await Promise.race([lock.done, pause(clock, LOCAL_TTL_MS + SLACK_MS)]);
  show(!lock.held, `the handle is still held ${SLACK_MS} ms after its local time`);
}

/** Both kinds of token: that of a grant, which proves ownership, and that of the server, which lets a client in. */
export function wrongToken(alsoServerToken: boolean): Scenario {
  return {
    title: 'S5 a wrong token is refused',
    run: async (stage, terminal) => {
      const client = stage.client('s5');
      const key = keyOf('token', terminal);
      const lock = await client.acquire(key);
      const code = await codeOf(client.releaseToken(key, 'lk_0000000000000000000000'));
      show(code === 'INVALID_TOKEN', `a release with a forged token got ${code} instead of INVALID_TOKEN`);
      show(lock.held, 'a forged token has taken the lock from its holder');
      await lock.release();
      const refused = 'a forged token of a lock: INVALID_TOKEN';
      return alsoServerToken ? `${refused}; ${await knock(stage, key)}` : refused;
    },
  };
}

/** What a client with another server token is told. */
async function knock(stage: DemoStage, key: Key): Promise<string> {
  const stranger: Klock = stage.client('s5-stranger', `wrong-${stage.place.token}`);
  const code = await codeOf(stranger.acquire(key, { waitMs: BUSY_WAIT_MS }));
  if (code === 'granted' && stage.place.token === '') return 'the server asks for no token of its own';
  show(code === 'BACKEND_MISCONFIGURED', `a client with a wrong token got ${code}`);
  return `a wrong token of the server: ${code}`;
}
