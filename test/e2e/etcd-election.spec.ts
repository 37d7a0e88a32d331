import type { Leadership } from 'klock/core';
import { EtcdRig, until } from '../support/etcd-rig.js';

const rig = new EtcdRig();
beforeAll(() => rig.start(), 30_000);
afterAll(() => rig.stop());
afterEach(() => rig.closeAll());

/** A candidate on a client of its own. */
function stand(
  name: string,
  office: string,
): { terms: Leadership[]; losses: string[]; resign(): Promise<void> } {
  const terms: Leadership[] = [];
  const losses: string[] = [];
  const election = rig.client({ clientName: name }).elect(office, {
    onElected: (term) => void terms.push(term),
    onLost: ({ reason }) => void losses.push(reason),
  });
  return { terms, losses, resign: () => election.resign() };
}

describe('an election on etcd', () => {
  it('[I2] [I3] has one leader of three, the next by order of candidacy when it resigns or its client closes, with rising fences', async () => {
    const office = rig.key();
    const candidates = [];
    for (const name of ['a', 'b', 'c']) {
      candidates.push(stand(name, office));
      const { length } = candidates;
      await until(async () => (await rig.entries(office)).length === length, 2_000, 'stood');
    }
    const [a, b, c] = candidates as [
      ReturnType<typeof stand>,
      ReturnType<typeof stand>,
      ReturnType<typeof stand>,
    ];
    await until(() => a.terms.length === 1, 2_000, 'a leads');
    expect([b.terms.length, c.terms.length]).toEqual([0, 0]);
    await a.resign();
    await until(() => b.terms.length === 1, 1_000, 'b leads');
    expect([a.losses, c.terms.length]).toEqual([[], 0]);
    await b.resign();
    await until(() => c.terms.length === 1, 1_000, 'c leads');
    const fences = [a, b, c].map(({ terms }) => terms[0]!.fence);
    expect(fences[0]! < fences[1]! && fences[1]! < fences[2]!).toBe(true);
  });

  it('a leader whose lease is revoked hears of it within a second, and stands again behind the others', async () => {
    const office = rig.key();
    const a = stand('a', office);
    await until(() => a.terms.length === 1, 2_000, 'a leads');
    const [lease] = await rig.admin.leases();
    const b = stand('b', office);
    await until(async () => (await rig.entries(office)).length === 2, 2_000, 'b waits');
    // Old enough to be watched.
    await new Promise((resolve) => setTimeout(resolve, 600));
    await rig.admin.revoke(lease!);
    await until(() => a.losses.length === 1 && b.terms.length === 1, 1_500, 'b leads');
    expect([a.losses, a.terms[0]!.signal.aborted]).toEqual([['session-gone'], true]);
    await until(async () => (await rig.entries(office)).length === 2, 2_000, 'a stands again');
    await b.resign();
    await until(() => a.terms.length === 2, 1_000, 'a leads again');
  });
});
