import { FakeClock } from '../../core/fake-clock.js';
import { CallError, ScriptedTransport } from '../../../test/support/etcd-transport.js';
import { KeySpace } from './key-space.js';
import { LeaseRenewals } from './lease-renewals.js';
import { StoreCalls } from './store-calls.js';

let clock: FakeClock;
let transport: ScriptedTransport;
let renewals: LeaseRenewals;

beforeEach(() => {
  clock = new FakeClock();
  transport = new ScriptedTransport(3);
  transport.onUnary = () => ({ kvs: [] });
  const random = { id: () => 'r', fraction: () => 0 };
  const calls = new StoreCalls({ clock, random, storeState: () => undefined }, transport, undefined, 800);
  renewals = new LeaseRenewals(clock, calls, new KeySpace('klock'));
});

/** Members answer with these seconds; `undefined`: not at all. */
function answering(ttl: (member: number, id: bigint) => bigint | undefined): void {
  transport.onSend = (stream, message) => {
    const { ID } = message as { ID: bigint };
    const TTL = ttl(stream.member, ID);
    if (TTL !== undefined) stream.answer({ ID, TTL });
  };
}

const members = (): number[] => transport.streams.map(({ member }) => member);

describe('renewing leases', () => {
  it('asks for all of them on one stream that is closed with the last answer', async () => {
    answering((_, id) => id);
    const { ttls } = await renewals.renew([3n, 5n], 1_000);
    expect([...ttls]).toEqual([
      [3n, 3n],
      [5n, 5n],
    ]);
    expect(transport.streams.map(({ closed }) => closed)).toEqual([true]);
    expect(clock.timers).toBe(0);
  });

  it('asks the next member for what one has not answered, and keeps what it has', async () => {
    answering((member, id) => (member === 0 && id === 5n ? undefined : 9n));
    const renewing = renewals.renew([3n, 5n], 3_000);
    await clock.advance(900);
    expect([...(await renewing).ttls]).toEqual([
      [3n, 9n],
      [5n, 9n],
    ]);
    expect(transport.streams[1]!.sent).toEqual([{ ID: 5n }]);
  });

  it('goes on to the next member when the stream breaks', async () => {
    transport.onSend = (stream, message) => {
      if (stream.member === 0) stream.end(new CallError(14, 'no leader', 0));
      else stream.answer({ ...(message as object), TTL: 7n });
    };
    const renewing = renewals.renew([3n], 3_000);
    await clock.advance(100);
    expect((await renewing).ttls.get(3n)).toBe(7n);
    expect(members()).toEqual([0, 1]);
  });

  it('ends within its time when nobody answers, with the reason', async () => {
    answering(() => undefined);
    const renewing = renewals.renew([3n], 2_000);
    await clock.advance(2_100);
    const { ttls, cause } = await renewing;
    expect([ttls.size, cause instanceof CallError]).toEqual([0, true]);
    expect(transport.streams.every(({ closed }) => closed)).toBe(true);
  });

  it('[B-054] a TTL of 0 is believed once a member that has caught up repeats it', async () => {
    answering(() => 0n);
    const { ttls } = await renewals.renew([3n], 2_000);
    expect(ttls.get(3n)).toBe(0n);
    expect([transport.calls.length, transport.streams.length]).toEqual([1, 2]);
  });

  it('a TTL of 0 from a member that had not met the lease yet ends nothing', async () => {
    let asked = 0;
    answering(() => (asked++ === 0 ? 0n : 4n));
    expect((await renewals.renew([3n], 2_000)).ttls.get(3n)).toBe(4n);
  });

  it('a TTL of 0 that cannot be confirmed in time is no answer', async () => {
    answering(() => 0n);
    transport.onUnary = (member) => {
      throw new CallError(14, 'away', member);
    };
    const renewing = renewals.renew([3n], 1_000);
    await clock.advance(1_100);
    expect((await renewing).ttls.size).toBe(0);
  });
});
