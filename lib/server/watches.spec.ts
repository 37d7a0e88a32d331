import { jest } from '@jest/globals';
import { silentLog } from './server-log.js';
import { ServerCounters } from './server-counters.js';
import { endRigs, RecordingLog, rig, until, type Rig } from './server.spec-support.js';
import { WatchBook } from './watch-book.js';

describe('watches over the wire', () => {
  let at: Rig;

  beforeEach(async () => (at = await rig()));
  afterEach(endRigs);

  it('[K-096] a watch on a live session first yields WATCH_ESTABLISHED without a code', async () => {
    const sessionId = await at.client.session();
    const watched = at.client.watch({ sessionId });
    expect(await watched.event()).toEqual({
      type: 'WATCH_ESTABLISHED',
      code: '',
      message: '',
      sessionId,
      serverId: at.server.serverId,
      protocolVersion: '1',
    });
    watched.stream.cancel();
  });

  it.each([
    ['expiry', 'lease_expired', (r: Rig) => r.clock.advance(1_000)],
    ['close', 'client_close', (r: Rig, sessionId: string) => r.client.closeSession(sessionId)],
    ['drain', 'server_restarting', (r: Rig) => void r.server.drain({ limitMs: 60_000 })],
  ])(
    '[K-097] %s tells the watch SESSION_GONE with the word %s, and ends it with OK',
    async (_what, word, end) => {
      const sessionId = await at.client.session(1_000n);
      const watched = at.client.watch({ sessionId });
      await watched.event();
      await end(at, sessionId);
      const event = await watched.event(1);
      expect(event).toMatchObject({ type: 'SESSION_INVALIDATED', code: 'SESSION_GONE', sessionId });
      expect(event.message).toContain(word);
      expect(await watched.ended).toBe(0);
      expect(watched.events.length).toBe(2);
    },
  );

  it('[K-098] a watch on an ended or unknown session is told and ends', async () => {
    const ended = await at.client.session(1_000n);
    await at.clock.advance(1_000);
    for (const [sessionId, code] of [
      [ended, 'SESSION_GONE'],
      ['sess_unknown', 'SESSION_NOT_FOUND'],
      ['x'.repeat(500), 'SESSION_NOT_FOUND'],
    ] as const) {
      const watched = at.client.watch({ sessionId });
      expect(await watched.event()).toMatchObject({ type: 'SESSION_INVALIDATED', code, sessionId });
      expect(await watched.ended).toBe(0);
    }
  });

  it('[K-098] a session whose lease is over is gone although no timer has run', async () => {
    const sessionId = await at.client.session(1_000n);
    at.clock.block(1_000);
    expect((await at.client.watch({ sessionId }).event()).code).toBe('SESSION_GONE');
  });

  it('[K-099] another protocol_version yields PROTOCOL_MISMATCH without a session, and ends', async () => {
    const watched = at.client.watch({ sessionId: await at.client.session(), protocolVersion: '2' });
    expect(await watched.event()).toMatchObject({
      type: 'PROTOCOL_MISMATCH',
      code: 'PROTOCOL_MISMATCH',
      sessionId: '',
    });
    expect(await watched.ended).toBe(0);
  });

  it('[K-100] a watch opened while draining is told SERVER_DRAINING before its session is looked up', async () => {
    await at.client.session();
    void at.server.drain({ limitMs: 60_000 });
    const watched = at.client.watch({ sessionId: 'sess_unknown' });
    expect(await watched.event()).toMatchObject({ type: 'SESSION_INVALIDATED', code: 'SERVER_DRAINING' });
    expect(await watched.ended).toBe(0);
  });

  it('[K-101] a stream ended before its first message ends with OK and without an event', async () => {
    const watched = at.client.watch();
    watched.stream.end();
    expect(await watched.ended).toBe(0);
    expect(watched.events).toEqual([]);
  });

  it('[K-102] [K-106] half-closing ends the watch and unregisters it', async () => {
    const watched = at.client.watch({ sessionId: await at.client.session() });
    await watched.event();
    expect(at.server.counters.active_watchers).toBe(1);
    watched.stream.end();
    expect(await watched.ended).toBe(0);
    expect(at.server.counters.active_watchers).toBe(0);
  });

  it('[K-103] [K-106] several watches of one session are all told; the gauge returns to zero', async () => {
    const sessionId = await at.client.session();
    const watches = [
      at.client.watch({ sessionId }),
      at.client.watch({ sessionId }),
      at.connect().watch({ sessionId }),
    ];
    await Promise.all(watches.map((watched) => watched.event()));
    expect(at.server.counters.active_watchers).toBe(3);
    await at.client.closeSession(sessionId);
    const events = await Promise.all(watches.map((watched) => watched.event(1)));
    expect(events.map(({ code }) => code)).toEqual(['SESSION_GONE', 'SESSION_GONE', 'SESSION_GONE']);
    expect(at.server.counters.active_watchers).toBe(0);
  });

  it('[K-106] watches cancelled by their clients leave the gauge too', async () => {
    const sessionId = await at.client.session();
    const other = at.connect();
    const watches = [at.client.watch({ sessionId }), other.watch({ sessionId })];
    await Promise.all(watches.map((watched) => watched.event()));
    for (const watched of watches) watched.stream.cancel();
    await until(() => at.server.counters.active_watchers === 0);
  });

  it('[K-104] messages after the first say nothing', async () => {
    const [one, two] = [await at.client.session(), await at.client.session()];
    const watched = at.client.watch({ sessionId: one });
    await watched.event();
    watched.stream.write({ sessionId: two, protocolVersion: '9' });
    watched.stream.write({ sessionId: 'sess_unknown', protocolVersion: '1' });
    await at.client.closeSession(two);
    await at.client.closeSession(one);
    expect((await watched.event(1)).sessionId).toBe(one);
    expect(watched.events.length).toBe(2);
  });

  it('[K-107] a watch that never names its session is ended after a limit', async () => {
    const watched = at.client.watch();
    await at.client.session();
    await at.clock.advance(5_000);
    expect(await watched.ended).toBe(0);
    expect(watched.events).toEqual([]);
  });

  it('[K-128] watches of one session are bounded; one more is RESOURCE_EXHAUSTED and changes nothing', async () => {
    const sessionId = await at.client.session();
    const watches = Array.from({ length: 16 }, () => at.client.watch({ sessionId }));
    await Promise.all(watches.map((watched) => watched.event()));
    expect(await at.client.watch({ sessionId }).ended).toBe(8);
    expect(at.server.counters.active_watchers).toBe(16);
    expect((await at.client.heartbeat(sessionId)).error).toBeUndefined();
    for (const watched of watches) watched.stream.cancel();
  });
});

describe('the book of watches', () => {
  const broken = { deliver: () => false, end: jest.fn() };

  it('[K-105] an event that cannot be delivered is counted and logged, and holds nothing up', () => {
    const [counters, log] = [new ServerCounters(), new RecordingLog()];
    const book = new WatchBook({ serverId: 'srv_1', counters, log });
    const good: string[] = [];
    book.add('s', broken);
    book.add('s', { deliver: ({ code }) => good.push(code) > 0, end: () => undefined });
    book.announce('s', 'lease_expired');
    expect(good).toEqual(['SESSION_GONE']);
    expect(broken.end).toHaveBeenCalledTimes(1);
    expect(counters.snapshot()).toMatchObject({ watcher_event_drops: 1, active_watchers: 0 });
    expect(log.find('watcher_event_dropped')).toMatchObject({ level: 'warn' });
  });

  it('[K-128] is bounded in all, and has room again once one leaves', () => {
    const book = new WatchBook({
      serverId: 's',
      counters: new ServerCounters(),
      log: silentLog,
      maxWatches: 2,
    });
    const sinks = [1, 2, 3].map(() => ({ deliver: () => true, end: () => undefined }));
    expect(sinks.map((sink, index) => book.add(`s${index}`, sink))).toEqual([true, true, false]);
    book.remove('s0', sinks[0]!);
    book.remove('s0', sinks[0]!);
    expect(book.add('s2', sinks[2]!)).toBe(true);
    expect(book.add('s3', sinks[0]!)).toBe(false);
  });
});
