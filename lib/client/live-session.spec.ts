import { FakeClock } from '../core/fake-clock.js';
import type { KeptLease } from '../core/index.js';
import { LiveSession } from './live-session.js';
import type { SessionGrant } from './session-grants.js';

const IDLE_MS = 30_000;

let clock: FakeClock;
let idle: number;
let session: LiveSession;

beforeEach(() => {
  clock = new FakeClock();
  idle = 0;
  const lease = { alive: true } as KeptLease;
  session = new LiveSession('s', 'server', 1, lease, clock, IDLE_MS, () => idle++);
});

const use = (): void => {
  session.begin();
  session.finish();
};

it('a session that nobody uses is idle once, after its time', async () => {
  await clock.advance(IDLE_MS - 1);
  expect(idle).toBe(0);
  await clock.advance(2);
  await clock.advance(10 * IDLE_MS);
  expect([idle, clock.timers]).toEqual([1, 0]);
});

it('its time counts from the last use, and no use makes a timer of its own', async () => {
  for (let uses = 0; uses < 100; uses++) {
    use();
    await clock.advance(IDLE_MS / 10);
    expect([idle, clock.timers]).toEqual([0, 1]);
  }
  await clock.advance(IDLE_MS);
  expect(idle).toBe(1);
});

it('is not idle while something is under way or held, however long', async () => {
  session.begin();
  const grant = { token: 't', place: -1 } as SessionGrant;
  session.settle(grant);
  session.finish();
  await clock.advance(3 * IDLE_MS);
  expect([idle, clock.timers]).toEqual([0, 0]);
  session.drop(grant);
  await clock.advance(IDLE_MS - 1);
  expect(idle).toBe(0);
  await clock.advance(1);
  expect(idle).toBe(1);
});

it('nothing of it stays behind its end', async () => {
  session.settle({ token: 't', place: -1 } as SessionGrant);
  session.end();
  use();
  await clock.advance(2 * IDLE_MS);
  expect([idle, clock.timers, session.usable, session.grants.size]).toEqual([0, 0, false, 0]);
});
