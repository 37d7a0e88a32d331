import { acquireOperation } from './channel-frames.js';

describe('acquireOperation', () => {
  it('asks for the fences wanted as it leaves, and for no others when it is sent again', () => {
    let waiters = 1;
    const request = {
      requestId: 'r',
      key: ['a', 'b'] as const,
      ttlMs: 1_000,
      waitMs: 500,
      attemptMs: 500,
      renew: true,
      get span() {
        return waiters;
      },
    };
    const operation = acquireOperation(request, 500);
    waiters = 7;
    operation.leaving();
    waiters = 9;
    expect(operation).toMatchObject({ l1: 'a', l2: 'b', waitMs: 500, span: 7, of: 0 });
  });
});
