import { AcquireAttempts, ANSWER_GRACE_MS, attemptTimeoutMs } from './acquire-attempts.js';
import { backoffBound, backoffMs, RETRY_BACKOFF } from './backoff.js';

const wait = (waitMs: number, attemptMs = 20_000): AcquireAttempts =>
  new AcquireAttempts({ waitMs, attemptMs, startedMs: 1_000 });

describe('AcquireAttempts', () => {
  it('[K-152] asks the server to wait for one attempt at most, cut to what is left of the whole wait', () => {
    const attempts = wait(5_000, 2_000);
    expect(attempts.plan(1_000).timeoutMs).toBe(2_000);
    expect(attempts.plan(5_400).timeoutMs).toBe(600);
    for (let now = 1_000; now < 6_000; now += 7) {
      const { timeoutMs } = attempts.plan(now);
      expect(timeoutMs).toBeGreaterThan(0);
      expect(timeoutMs).toBeLessThanOrEqual(2_000);
    }
  });

  it('[K-153] asks for 1 ms at least when there is an end, and for 0 only when there is none', () => {
    expect(attemptTimeoutMs(20_000, 0)).toBe(1);
    expect(attemptTimeoutMs(20_000, 0.25)).toBe(1);
    expect(attemptTimeoutMs(Infinity, 300.2)).toBe(301);
    expect(attemptTimeoutMs(Infinity, Infinity)).toBe(0);
    expect(wait(0).plan(1_000).timeoutMs).toBe(1);
  });

  it('[B-031] gives the call more time than the server gets to wait', () => {
    expect(wait(2_000).plan(1_000)).toEqual({ timeoutMs: 2_000, callMs: 2_000 + ANSWER_GRACE_MS });
  });

  it('[K-151] asks again for ever while the wait has no end', () => {
    const attempts = wait(Infinity);
    for (let now = 1_000; now < 1e9; now = now * 2) {
      attempts.plan(now);
      expect(attempts.ended('passing', 1, now, 0.5).next).toBe('again');
      expect(attempts.ended('busy', 1, now, 0.5).next).toBe('again');
    }
  });

  it('[K-150] ends busy when the last attempt of the wait was answered LOCK_TIMEOUT', () => {
    const attempts = wait(500);
    attempts.plan(1_000);
    expect(attempts.ended('busy', 1, 1_500, 0)).toEqual({ next: 'busy' });
    expect(attempts.doubts.open).toBe(false);
  });

  it('ends unavailable when the wait is over and the last attempt was not answered about the key', () => {
    for (const verdict of ['passing', 'unresolved', 'unsent'] as const) {
      expect(wait(500).ended(verdict, 1, 1_500, 0)).toEqual({ next: 'unavailable' });
    }
  });

  it('comes back at once after a full wait, and after a pause when the server did not wait', () => {
    const attempts = wait(10_000, 1_000);
    attempts.plan(1_000);
    expect(attempts.ended('busy', 1, 2_001, 0.99)).toEqual({ next: 'again', pauseMs: 0 });
    attempts.plan(2_001);
    expect(attempts.ended('busy', 1, 2_003, 0.99)).toEqual({ next: 'again', pauseMs: 99 });
  });

  it('[K-158] spaces retries by full jitter that grows to a second and never exceeds what is left', () => {
    const attempts = wait(100_000);
    const pauses = Array.from({ length: 8 }, () => {
      const step = attempts.ended('passing', 1, 1_000, 0.999);
      return step.next === 'again' ? step.pauseMs : -1;
    });
    expect(pauses).toEqual(
      [100, 200, 400, 800, 999, 999, 999, 999].map((ms) => expect.closeTo(ms, -1) as number),
    );
    expect(backoffMs(RETRY_BACKOFF, 5, 0)).toBe(0);
    expect(backoffBound(RETRY_BACKOFF, 1_000)).toBe(1_000);
    expect(wait(10).ended('passing', 1, 1_004, 0.999)).toEqual({ next: 'again', pauseMs: 6 });
  });

  it('replaces a session that is over although the wait is 0, but not for ever', () => {
    const attempts = wait(0);
    const steps = Array.from({ length: 4 }, () => attempts.ended('session-over', 1, 1_000, 0.5).next);
    expect(steps).toEqual(['again', 'again', 'again', 'unavailable']);
  });

  it('hands a used-up id to the caller, who takes a new one', () => {
    expect(wait(1_000).ended('conflict', 1, 1_000, 0)).toEqual({ next: 'conflict' });
  });

  it('[K-162] ends at once, without any doubt, when it is refused for good', () => {
    const attempts = wait(1_000);
    expect(attempts.ended('final', 1, 1_000, 0)).toEqual({ next: 'refused' });
    expect(attempts.doubts.open).toBe(false);
  });
});
