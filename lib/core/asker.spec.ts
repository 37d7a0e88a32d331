import { askerOf, laterOf } from './asker.js';
import { LATER, type DriverAcquire } from './lock-driver.js';

const request: DriverAcquire = {
  requestId: 'r',
  key: ['k'],
  ttlMs: 1_000,
  waitMs: 0,
  attemptMs: 1_000,
  renew: true,
};

describe('whoever asks for a lock', () => {
  it('is told itself where the request takes its answer, and no promise is made', () => {
    const told: unknown[] = [];
    const asker = askerOf({
      ...request,
      settle: (reply) => told.push(reply),
      fail: (error) => told.push(error),
    });
    expect(laterOf(asker)).toBe(LATER);
    asker.settle({ granted: false });
    asker.fail('broken');
    expect(told).toEqual([{ granted: false }, 'broken']);
  });

  it('is told by a promise otherwise', async () => {
    const [asker, failing] = [askerOf(request), askerOf(request)];
    const replies = [laterOf(asker), laterOf(failing)];
    asker.settle({ granted: false });
    failing.fail(new Error('broken'));
    expect(await replies[0]).toEqual({ granted: false });
    await expect(replies[1]).rejects.toThrow('broken');
  });
});
