import { WatchState } from './watch-state.js';

const pauseOf = (state: WatchState, now: number, fraction: number): number => {
  const step = state.dropped(false, now, fraction);
  return step.next === 'reconnect' ? step.pauseMs : -1;
};

describe('WatchState', () => {
  it('[K-178] backs off from 100 ms doubling to 1,600 ms, each pause between half of it and all', () => {
    const longest = new WatchState(false);
    expect(Array.from({ length: 7 }, () => pauseOf(longest, 0, 1))).toEqual([
      100, 200, 400, 800, 1600, 1600, 1600,
    ]);
    const shortest = new WatchState(false);
    expect(Array.from({ length: 6 }, () => pauseOf(shortest, 0, 0))).toEqual([50, 100, 200, 400, 800, 800]);
  });

  it('[K-178] starts anew after 500 ms of a good connection, not after less', () => {
    const state = new WatchState(false);
    for (let i = 0; i < 5; i++) pauseOf(state, 0, 1);
    state.confirmed(1_000);
    expect(pauseOf(state, 1_499, 1)).toBe(1_600);
    state.confirmed(2_000);
    expect(pauseOf(state, 2_500, 1)).toBe(100);
  });

  it('[K-177] never gives the session up as a hint, and after 5 s without a watch in strict mode', () => {
    const hint = new WatchState(false);
    const strict = new WatchState(true);
    for (let now = 0; now < 5_000; now += 500) {
      expect(hint.dropped(false, now, 0).next).toBe('reconnect');
      expect(strict.dropped(false, now, 0).next).toBe('reconnect');
    }
    expect(hint.dropped(false, 60_000, 0).next).toBe('reconnect');
    expect(strict.dropped(false, 5_000, 0).next).toBe('give-up');
  });

  it('[K-179] forgets an interruption after which it was stable again', () => {
    const strict = new WatchState(true);
    strict.dropped(false, 0, 0);
    strict.confirmed(4_000);
    expect(strict.established).toBe(true);
    expect(strict.dropped(false, 9_000, 0).next).toBe('reconnect');
    expect(strict.established).toBe(false);
  });

  it('does without a watch the server does not have', () => {
    expect(new WatchState(false).dropped(true, 0, 0)).toEqual({ next: 'do-without' });
  });
});
