import { FakeClock } from '../../core/fake-clock.js';
import { CallError, ScriptedTransport, type ScriptedStream } from '../../../test/support/etcd-transport.js';
import { StoreCalls } from './store-calls.js';
import { WatchStream, type WatchNews } from './watch-stream.js';

let clock: FakeClock;
let transport: ScriptedTransport;
let watches: WatchStream;
let news: WatchNews[];

beforeEach(() => {
  clock = new FakeClock();
  transport = new ScriptedTransport(3);
  const random = { id: () => 'r', fraction: () => 0 };
  const calls = new StoreCalls({ clock, random, storeState: () => undefined }, transport, undefined, 800);
  watches = new WatchStream(clock, random, calls);
  news = [];
});

const watch = (key = 'k', revision: bigint | undefined = 7n): Disposable =>
  watches.watch(Buffer.from(key), revision, (each) => news.push(each));
const stream = (index = -1): ScriptedStream => transport.streams.at(index)!;
const created = (of = stream()): unknown[] =>
  of.sent.flatMap((message) => {
    const { create_request: create } = message as {
      create_request?: { key: Buffer; start_revision: bigint };
    };
    return create === undefined ? [] : [[create.key.toString(), create.start_revision]];
  });
const none = {
  watch_id: -1n,
  created: false,
  canceled: false,
  compact_revision: 0n,
  cancel_reason: '',
  events: [],
};
const deleted = (id: bigint): object => ({ ...none, watch_id: id, events: [{ type: 1 }] });

/** A member that answers every question for a sign of life. */
function lively(): void {
  transport.onSend = (to, message) => {
    if ('progress_request' in (message as object)) to.answer(none);
  };
}

describe('the watch stream', () => {
  it('watches each key from its revision on one stream, and tells of a deletion once', () => {
    watch('a', 3n);
    watch('b', 4n);
    expect(transport.streams).toHaveLength(1);
    expect(created()).toEqual([
      ['a', 3n],
      ['b', 4n],
    ]);
    stream().answer(deleted(2n));
    stream().answer(deleted(2n));
    expect(news).toEqual(['deleted']);
    expect(stream().sent.at(-1)).toEqual({ cancel_request: { watch_id: 2n } });
    expect(watches.size).toBe(1);
  });

  it('a watch from now on tells when that is, and a broken one goes on from there', async () => {
    watches.watch(Buffer.from('k'), undefined, (each) => news.push(each));
    expect(created()).toEqual([['k', 0n]]);
    stream().answer({ ...none, watch_id: 1n, created: true, header: { revision: 41n } });
    expect(news).toEqual(['watching']);
    stream().end(new CallError(14, 'gone', 0));
    await clock.advance(50);
    expect(created()).toEqual([['k', 42n]]);
    stream().answer({ ...none, watch_id: 1n, created: true, header: { revision: 50n } });
    stream().answer(deleted(1n));
    expect(news).toEqual(['watching', 'deleted']);
  });

  it('a watch that breaks before it has begun begins anew, and tells when it has', async () => {
    watches.watch(Buffer.from('k'), undefined, (each) => news.push(each));
    stream().end(new CallError(14, 'gone', 0));
    await clock.advance(50);
    expect(created()).toEqual([['k', 0n]]);
    stream().answer({ ...none, watch_id: 1n, created: true, header: { revision: 41n } });
    expect(news).toEqual(['watching']);
  });

  it('a disposed watch is cancelled and tells nothing any more', () => {
    watch()[Symbol.dispose]();
    stream().answer(deleted(1n));
    expect(news).toEqual([]);
    expect(stream().sent.at(-1)).toEqual({ cancel_request: { watch_id: 1n } });
  });

  it('[B-052] a watch cancelled by compaction, or for any other reason, tells to look: never silence', () => {
    watch();
    watch('b');
    stream().answer({ ...none, watch_id: 1n, canceled: true, compact_revision: 900n });
    stream().answer({ ...none, watch_id: 2n, canceled: true, cancel_reason: 'no permission' });
    expect(news).toEqual(['unsure', 'unsure']);
    expect(watches.size).toBe(0);
  });

  it('a broken stream is opened on the next member with the same watches from the same revisions', async () => {
    watch('a', 3n);
    stream().end(new CallError(14, 'gone', 0));
    await clock.advance(50);
    expect(transport.streams.map(({ member }) => member)).toEqual([0, 1]);
    expect(created()).toEqual([['a', 3n]]);
    stream().answer(deleted(1n));
    expect(news).toEqual(['deleted']);
  });

  it('words of an earlier stream are not listened to', async () => {
    watch();
    stream().end(new CallError(14, 'gone', 0));
    await clock.advance(50);
    stream(0).answer(deleted(1n));
    stream(0).end(new CallError(14, 'again', 0));
    expect([news, transport.streams.length]).toEqual([[], 2]);
  });

  it('a silent stream is asked for a sign of life, and one that gives none is replaced within 1.5 s', async () => {
    watch('a', 3n);
    await clock.advance(600);
    expect(stream().sent.at(-1)).toEqual({ progress_request: {} });
    await clock.advance(900);
    expect(stream(0).closed).toBe(true);
    expect(transport.streams.map(({ member }) => member)).toEqual([0, 1]);
    expect(created()).toEqual([['a', 3n]]);
  });

  it('a lively stream is kept', async () => {
    lively();
    watch();
    await clock.advance(60_000);
    expect(transport.streams).toHaveLength(1);
  });

  it('members that all refuse are asked less and less often, and one that is back within a second', async () => {
    transport.onSend = (to) => to.end(new CallError(14, 'away', to.member));
    watch();
    await clock.advance(10_000);
    const { length } = transport.streams;
    expect(length).toBeLessThan(2_000);
    lively();
    await clock.advance(1_000);
    expect(stream().closed).toBe(false);
    stream().answer(deleted(1n));
    expect(news).toEqual(['deleted']);
  });

  it('without watches it is closed after a second and nothing is asked any more', async () => {
    lively();
    watch()[Symbol.dispose]();
    await clock.advance(1_100);
    expect(stream().closed).toBe(true);
    expect(clock.timers).toBe(0);
    watch();
    expect(transport.streams).toHaveLength(2);
  });

  it('closed for good it opens nothing, whatever breaks later', async () => {
    watch();
    watches.close();
    stream().end(new CallError(14, 'gone', 0));
    await clock.advance(5_000);
    expect([transport.streams.length, clock.timers]).toEqual([1, 0]);
  });
});
