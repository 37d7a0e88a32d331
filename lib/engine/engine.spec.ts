import { Engine } from './index.js';
import { MAX_FENCE } from '../core/index.js';

it('grants, queues, hands over', () => {
  let n = 0;
  const engine = new Engine({ lastFence: 0n, reservedFence: MAX_FENCE, mintToken: () => `t${++n}` });
  engine.apply({ type: 'open-session', sessionId: 'a', leaseMs: 100 }, 0);
  engine.apply({ type: 'open-session', sessionId: 'b', leaseMs: 200 }, 0);
  const key = ['t', 'x'] as const;
  expect(
    engine.apply({ type: 'acquire', callId: 1, sessionId: 'a', requestId: 'r', key, waitUntilMs: 50 }, 0),
  ).toMatchObject({ answer: { type: 'granted' } });
  expect(
    engine.apply({ type: 'acquire', callId: 2, sessionId: 'b', requestId: 'r', key, waitUntilMs: 150 }, 0),
  ).toMatchObject({ answer: { type: 'queued' } });
  expect(engine.wakeAtMs).toBe(100);
  const out = engine.apply({ type: 'wake' }, 100);
  expect(out.effects.map((e) => e.type)).toEqual(['session-ended', 'call-answered']);
  engine.apply({ type: 'wake' }, 200);
  expect(engine.stats()).toMatchObject({ sessions: 0, locks: 0, waiters: 0, trees: 0 });
});
