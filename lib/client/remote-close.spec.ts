import { FakeClock, settle } from '../core/fake-clock.js';
import { systemRandom } from '../core/index.js';
import type { CallOutcome } from '../session/index.js';
import type { LockService, SessionRef } from './lock-service.js';
import { RemoteCloses } from './remote-close.js';

const session: SessionRef = { sessionId: 'sess_1', serverId: 'srv_a' };
const sentAt = { monoMs: 0, wallMs: 0 };
const closed: CallOutcome<never> = { kind: 'answered', reply: { closed: true } as never, link: 1, sentAt };
const broken: CallOutcome<never> = {
  kind: 'failed',
  status: 'UNAVAILABLE',
  cause: new Error('x'),
  link: 1,
  sentAt,
};

/** A server that answers a CloseSession when the test says so. */
class Door {
  readonly knocks: ((outcome: CallOutcome<never>) => void)[] = [];
  readonly clock = new FakeClock();
  readonly closes = new RemoteCloses(
    {
      closeSession: () => new Promise((resolve) => this.knocks.push(resolve)),
    } as unknown as LockService,
    this.clock,
    systemRandom,
  );
}

describe('RemoteCloses', () => {
  it('[K-165] tells the server once, and everybody who waits gets the answer', async () => {
    const { closes, knocks } = new Door();
    const all = Promise.all([closes.close(session), closes.close(session), closes.close({ ...session })]);
    knocks[0]?.(closed);
    expect(await all).toEqual([true, true, true]);
    expect(knocks).toHaveLength(1);
    expect(closes.owing).toBe(0);
  });

  it('tries again within its own time, and owes what was not answered', async () => {
    const { closes, knocks, clock } = new Door();
    const told = closes.close(session);
    for (let turn = 0; turn < 60; turn++) {
      knocks.at(-1)?.(broken);
      await clock.advance(50);
    }
    expect(await told).toBe(false);
    expect(knocks.length).toBeGreaterThan(2);
    expect(closes.owing).toBe(1);
  });

  it('[K-203] makes an owed farewell again when asked, one for all who ask', async () => {
    const { closes, knocks, clock } = new Door();
    const first = closes.close(session);
    await clock.advance(2_100);
    knocks[0]?.(broken);
    await clock.advance(200);
    expect(await first).toBe(false);
    const settled = Promise.all([closes.settle(), closes.settle()]);
    await settle();
    expect(knocks).toHaveLength(2);
    knocks[1]?.(closed);
    await settled;
    expect(closes.owing).toBe(0);
  });

  it('joins a farewell under way, and makes another if that comes to nothing', async () => {
    const { closes, knocks, clock } = new Door();
    void closes.close(session);
    const settled = closes.settle();
    await clock.advance(2_100);
    knocks[0]?.(broken);
    await clock.advance(200);
    expect(knocks).toHaveLength(2);
    knocks[1]?.(closed);
    await settled;
    expect(closes.owing).toBe(0);
  });

  it('owes a bounded number of farewells', async () => {
    const { closes, knocks } = new Door();
    for (let index = 0; index < 100; index++) void closes.close({ ...session, sessionId: `sess_${index}` });
    expect(closes.owing).toBe(64);
    for (const knock of knocks) knock(closed);
    await settle();
    expect(closes.owing).toBe(0);
  });
});
