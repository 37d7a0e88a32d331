import { LoadTally } from './load-tally.js';

describe('the tally of a load run', () => {
  it('[K-205] tells successes, errors, the first error, rates and latencies', () => {
    const tally = new LoadTally();
    for (let ms = 100; ms >= 1; ms--) tally.success(ms);
    tally.failure('LOCK_TIMEOUT: busy');
    tally.failure('another');
    expect(tally.lines(2_000)).toEqual([
      'success      100',
      'errors       2',
      'first error  LOCK_TIMEOUT: busy',
      'error rate   1.96 %',
      'throughput   50.0 pairs/s',
      'latency      avg 50.500 ms  p50 50.000 ms  p95 95.000 ms  p99 99.000 ms',
    ]);
  });

  it('tells that nothing was measured where nothing succeeded', () => {
    expect(new LoadTally().lines(1_000)).toEqual([
      'success      0',
      'errors       0',
      'first error  none',
      'error rate   0.00 %',
      'throughput   0.0 pairs/s',
      'latency      none',
    ]);
  });
});
