import type { RevokeResponse } from '../rpc/index.js';
import type { CallOutcome, NoAnswer, TransportStatus } from '../session/index.js';
import type { LockService } from './lock-service.js';
import { OperatorCalls } from './operator-calls.js';

const sent = { link: 1, sentAt: { monoMs: 0, wallMs: 0 } };
const failed = (status: TransportStatus): NoAnswer => ({
  kind: 'failed',
  status,
  cause: new Error(status),
  ...sent,
});
const refused = (code: string, status: number): NoAnswer => ({
  kind: 'refused',
  refusal: { code, status, message: 'no', serverId: 's' },
  ...sent,
});

describe('what an operator is told where the server did not carry it out', () => {
  let calls: number;
  const operator = (outcome: CallOutcome<RevokeResponse>, link: object = {}): OperatorCalls => {
    calls = 0;
    const service = {
      link: () => Promise.resolve(link),
      revoke: () => {
        calls++;
        return Promise.resolve(outcome);
      },
      listHolders: () => Promise.resolve(outcome),
    };
    return new OperatorCalls(service as unknown as LockService, 'ops');
  };
  const unknown = /^nobody knows whether "k" was revoked/;

  it.each<[string, NoAnswer, string, RegExp]>([
    ['the connection broke meanwhile', failed('UNAVAILABLE'), 'LOCK_UNAVAILABLE', unknown],
    ['no answer came in time', failed('DEADLINE_EXCEEDED'), 'LOCK_UNAVAILABLE', unknown],
    ['the server failed inside', refused('INTERNAL', 500), 'LOCK_UNAVAILABLE', unknown],
    ['it asks too often', failed('RESOURCE_EXHAUSTED'), 'LOCK_UNAVAILABLE', /not available/],
    ['its token is wrong', failed('UNAUTHENTICATED'), 'BACKEND_MISCONFIGURED', /UNAUTHENTICATED/],
    ['it may not', refused('FORBIDDEN', 403), 'BACKEND_MISCONFIGURED', /FORBIDDEN/],
    ['the server is too old', failed('UNIMPLEMENTED'), 'BACKEND_MISCONFIGURED', /too old to revoke/],
  ])('[B-081] %s', async (_, outcome, code, message) => {
    const answer = operator(outcome).revoke(['k'], {}, 1_000);
    await expect(answer).rejects.toMatchObject({
      code,
      key: ['k'],
      operation: 'revoke',
      message: expect.stringMatching(message) as string,
    });
    // A copy without a fence could end the lock of whoever is next.
    expect(calls).toBe(1);
  });

  it('[B-081] no connection: nothing was sent, and that is said', async () => {
    const unsent = { kind: 'unsent', cause: new Error('nobody listens') } as const;
    await expect(operator(unsent, unsent).revoke(['k'], {}, 1_000)).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      message: 'the lock server is not available: nobody listens',
    });
    expect(calls).toBe(0);
    await expect(operator(failed('UNIMPLEMENTED')).holders({}, 1_000)).rejects.toMatchObject({
      message: expect.stringMatching(/too old to list holders/) as string,
    });
  });
});
