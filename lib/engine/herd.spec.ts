import type { LockKey } from '../core/index.js';
import { TestEngine } from './engine.spec-support.js';

const WAITERS = 1_000;
const KEYS = 10;

/** Waiters of one engine, each in a session of its own, behind a holder of `held`. */
function crowd(held: LockKey, keyOf: (waiter: number) => LockKey): { engine: TestEngine; token: string } {
  const engine = new TestEngine();
  engine.open('holder');
  const answer = engine.acquire('holder', 'held', held);
  if (answer.type !== 'granted') throw new Error('the first one was not granted');
  for (let waiter = 0; waiter < WAITERS; waiter++) {
    engine.open(`s${waiter}`);
    engine.acquire(`s${waiter}`, 'wait', keyOf(waiter), 60_000);
  }
  return { engine, token: answer.grant.token };
}

/** Everything that anybody is told because of it. */
function toldBy(engine: TestEngine, act: () => void): string[] {
  const before = engine.effects.length;
  act();
  return engine.effects.slice(before).map(({ type }) => type);
}

describe('a release tells those who hold by it, and nobody else', () => {
  it('one of 1,000 waiters for the same key', () => {
    const { engine, token } = crowd(['t'], () => ['t']);
    expect(toldBy(engine, () => void engine.release('holder', token))).toEqual(['call-answered']);
  });

  it('of 1,000 waiters for ten keys below an L1 the first of each', () => {
    const { engine, token } = crowd(['t'], (waiter) => ['t', `k${waiter % KEYS}`]);
    const told = toldBy(engine, () => void engine.release('holder', token));
    expect(told).toEqual(Array.from({ length: KEYS }, () => 'call-answered'));
  });
});
