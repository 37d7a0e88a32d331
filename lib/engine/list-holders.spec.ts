import { TestEngine } from './engine.spec-support.js';

describe('a listing of holders', () => {
  const keysOf = (test: TestEngine, page: object = {}): string[] =>
    test.engine.holders(page, test.nowMs).holders.map(({ key }) => key.join('/'));

  it('[B-081] names every holder once, the longest held first, however the trees stand, in pages that follow each other', () => {
    const test = new TestEngine();
    test.open('a');
    // Trees are met in the order of their first key; grants jump between them.
    for (let n = 0; n < 1_000; n++) test.acquire('a', `r${n}`, [`t${(n * 7) % 13}`, `k${n}`]);
    const found: string[] = [];
    let afterFence = 0n;
    let pages = 0;
    for (let more = true; more; pages++) {
      const page = test.engine.holders({ afterFence, limit: 64 }, test.nowMs);
      found.push(...page.holders.map(({ key }) => key[1] ?? ''));
      afterFence = page.holders.at(-1)?.fence ?? 0n;
      more = page.more;
    }
    expect(found).toEqual(Array.from({ length: 1_000 }, (_, n) => `k${n}`));
    expect(pages).toBe(16);
  });

  it('[B-081] has at most 100 on a page, whatever is asked for, and says whether there are more', () => {
    const test = new TestEngine();
    test.open('a');
    for (let n = 0; n < 101; n++) test.acquire('a', `r${n}`, [`k${n}`]);
    const page = test.engine.holders({ limit: 5_000 }, test.nowMs);
    expect([page.holders.length, page.more]).toEqual([100, true]);
    const last = test.engine.holders({ afterFence: page.holders.at(-1)?.fence ?? 0n }, test.nowMs);
    expect([last.holders.length, last.more]).toEqual([1, false]);
    const exact = test.engine.holders({ limit: 1, afterFence: page.holders.at(-1)?.fence ?? 0n }, test.nowMs);
    expect([exact.holders.length, exact.more]).toEqual([1, false]);
  });

  it('[B-081] counts who waits for each key, leaves out what is over, and shows keys that are kept', () => {
    const test = new TestEngine();
    test.open('a');
    test.open('short', 100);
    const held = test.acquire('a', 'r1', ['t', 'x']);
    test.acquire('short', 'r1', ['t', 'y']);
    test.acquire('a', 'r2', ['t', 'x'], 60_000);
    test.acquire('a', 'r3', ['t'], 60_000);
    const waiting = test.engine.holders({}, test.nowMs).holders.map(({ key, waiters }) => [key[1], waiters]);
    expect(waiting).toEqual([
      ['x', 2],
      ['y', 1],
    ]);
    // Only a late timer keeps it.
    expect(test.engine.holders({}, 100).holders.map(({ key }) => key[1])).toEqual(['x']);
    if (held.type !== 'granted') throw new Error('not granted');
    test.apply({ type: 'cancel-request', sessionId: 'a', requestId: 'r2' });
    test.apply({ type: 'cancel-request', sessionId: 'a', requestId: 'r3' });
    const { token } = held.grant;
    test.apply({ type: 'release', sessionId: 'a', token, releaseId: 'rel', keepMs: 1_000 });
    expect(keysOf(test)).toEqual(['t/x', 't/y']);
    test.advance(1_000);
    expect(keysOf(test)).toEqual([]);
  });
});
