import { jest } from '@jest/globals';
import { MAX_LOAD } from '../../lib/client/channel-acquire.js';
import { Ask, lockService, Outcome } from '../../lib/rpc/index.js';
import type { LockServer } from '../../lib/server/index.js';
import {
  MAX_CHANNEL_SPAN,
  MAX_UNACKNOWLEDGED_ANSWERS,
  MAX_UNREAD_ANSWERS,
  MAX_UNREAD_REPORT_ENTRIES,
} from '../../lib/server/server-limits.js';
import { ChannelBench } from '../support/channel-bench.js';
import { real, until } from '../support/client-rig.js';
import { operationOf, RawChannel, RawChannelServer, type RawServerStream } from '../support/raw-channel.js';

afterEach(() => jest.restoreAllMocks());
const bench = new ChannelBench({ ttlMs: 60_000, handover: false });

async function rawClient(
  server: LockServer,
  ...how: [hello?: Parameters<typeof make>[1], received?: number]
): Promise<RawChannel> {
  const channel = make(server.address, ...how);
  await channel.welcomed();
  return channel;
}

function make(...how: ConstructorParameters<typeof RawChannel>): RawChannel {
  const channel = new RawChannel(...how);
  bench.onEnd(() => channel.close());
  return channel;
}

async function rawServer(): Promise<RawChannelServer> {
  const server = await RawChannelServer.start();
  bench.onEnd(() => server.stop());
  return server;
}

/** Bytes given to the library to be sent from now on. */
function bytesSent(which: 'requestSerialize' | 'responseSerialize'): () => number {
  let bytes = 0;
  const serialize: (frame: never) => Buffer = lockService.Channel[which];
  jest.spyOn(lockService.Channel, which).mockImplementation((frame: unknown): Buffer => {
    const buffer = serialize(frame as never);
    bytes += buffer.length;
    return buffer;
  });
  return () => bytes;
}

const nothings = (count: number): ReturnType<typeof operationOf>[] =>
  new Array<ReturnType<typeof operationOf>>(count).fill(operationOf({ ask: Ask.Release, of: 1_000_000_000 }));

describe('the span of one grant', () => {
  it(`[D13] is granted up to ${MAX_CHANNEL_SPAN}; one more, or none, is refused and takes nothing`, async () => {
    const server = await bench.lockServer();
    const channel = await rawClient(server);
    channel.ask(1, [
      operationOf({ l1: 'a', span: MAX_CHANNEL_SPAN }),
      operationOf({ l1: 'b', span: MAX_CHANNEL_SPAN + 1 }),
      operationOf({ l1: 'c' }),
    ]);
    const [whole, beyond, next] = await Promise.all([1, 2, 3].map((number) => channel.answer(number)));
    expect(whole).toMatchObject({ outcome: Outcome.Granted, span: MAX_CHANNEL_SPAN });
    expect(beyond).toMatchObject({ outcome: Outcome.Refused, error: { code: 'BAD_REQUEST' } });
    expect(beyond?.error?.message).toContain(`1 to ${MAX_CHANNEL_SPAN}, got ${MAX_CHANNEL_SPAN + 1}`);
    // Fences of the whole span are taken.
    expect((next?.fence ?? 0n) - (whole?.fence ?? 0n)).toBe(BigInt(MAX_CHANNEL_SPAN));
    expect(server.stats.locks).toBe(2);
  });
});

describe('a client that acknowledges nothing', () => {
  it(`is granted locks up to ${MAX_UNACKNOWLEDGED_ANSWERS} answers, refused for now from there on, and granted again once it acknowledges`, async () => {
    const server = await bench.lockServer();
    const channel = await rawClient(server);
    channel.ask(1, nothings(MAX_UNACKNOWLEDGED_ANSWERS - 1));
    const bound = MAX_UNACKNOWLEDGED_ANSWERS;
    channel.ask(bound, [operationOf({ l1: 'at' }), operationOf({ l1: 'beyond' })]);
    expect(await channel.answer(bound, 30_000)).toMatchObject({ outcome: Outcome.Granted });
    expect(await channel.answer(bound + 1)).toMatchObject({
      outcome: Outcome.Refused,
      error: { code: 'SERVER_OVERLOADED', status: 503 },
    });
    expect(server.stats).toMatchObject({ locks: 1, waiters: 0 });
    channel.ask(bound + 2, [operationOf({ l1: 'again' })], bound + 1);
    expect(await channel.answer(bound + 2)).toMatchObject({ outcome: Outcome.Granted });
  }, 60_000);

  it(`is kept up to ${MAX_UNREAD_ANSWERS} answers; one more ends its stream, and after a resume it finds every answer once`, async () => {
    const server = await bench.lockServer();
    const channel = await rawClient(server);
    channel.ask(1, [operationOf({ l1: 'held' }), ...nothings(MAX_UNREAD_ANSWERS - 1)]);
    await channel.answer(MAX_UNREAD_ANSWERS, 30_000);
    await real(100);
    expect(channel.over).toBe(false);
    channel.ask(MAX_UNREAD_ANSWERS + 1, nothings(1));
    await until(() => channel.over);
    // The session and what it holds are not touched.
    expect(server.stats).toMatchObject({ sessions: 1, locks: 1 });
    const { sessionId } = channel;
    const read = 150_000;
    const again = await rawClient(server, { sessionId, incarnation: 2 }, read);
    await again.answer(MAX_UNREAD_ANSWERS + 1, 30_000);
    expect(again.frames.find(({ answers }) => answers.length > 0)?.firstMessage).toBe(read + 1);
    expect(again.answers).toHaveLength(MAX_UNREAD_ANSWERS + 1 - read);
    expect(new Set(again.answers.map(({ operation }) => operation)).size).toBe(again.answers.length);
  }, 60_000);
});

describe('a client that does not read', () => {
  it('has its answers kept for it in a bounded way on the wire, and finds every one of them in order once it reads', async () => {
    const sent = bytesSent('responseSerialize');
    const server = await bench.lockServer();
    const waiting = await rawClient(server);
    waiting.ask(
      1,
      Array.from({ length: 100 }, () => operationOf({ l1: `${'k'.repeat(100)}`, waitMs: 60_000 })),
    );
    await until(() => server.stats.waiters === 99);
    const reader = await rawClient(server);
    await until(() => reader.frames.length > 0);
    const before = sent();
    reader.pause();
    const questions = 400;
    reader.ask(
      1,
      new Array<ReturnType<typeof operationOf>>(questions).fill(
        operationOf({ ask: Ask.Inspect, l1: 'k'.repeat(100) }),
      ),
    );
    await until(() => sent() > before);
    await real(500);
    const whilePaused = sent() - before;
    reader.resume();
    await reader.answer(questions, 30_000);
    const whole = sent() - before;
    expect(reader.answers.map(({ operation }) => operation)).toEqual(
      Array.from({ length: questions }, (_, index) => index + 1),
    );
    expect(reader.answers.every(({ report }) => report?.waiterCount === 99)).toBe(true);
    // Megabytes were to come; what had left the session's own book was a few windows of the transport.
    expect(whole).toBeGreaterThan(4_000_000);
    expect(whilePaused).toBeLessThan(2_000_000);
  }, 60_000);

  it(`is given reports of ${MAX_UNREAD_REPORT_ENTRIES} entries, refused for now from there on, and answered again once it acknowledges`, async () => {
    const server = await bench.lockServer();
    const waiting = await rawClient(server);
    waiting.ask(
      1,
      Array.from({ length: 101 }, () => operationOf({ l1: 'k', waitMs: 60_000 })),
    );
    await until(() => server.stats.waiters === 100);
    // One holder, 100 waiters, and one for itself.
    const atBound = Math.ceil(MAX_UNREAD_REPORT_ENTRIES / 102);
    const reader = await rawClient(server);
    const question = operationOf({ ask: Ask.Inspect, l1: 'k' });
    reader.ask(1, new Array<typeof question>(atBound + 1).fill(question));
    expect((await reader.answer(atBound, 30_000)).outcome).toBe(Outcome.Reported);
    expect(await reader.answer(atBound + 1)).toMatchObject({
      outcome: Outcome.Refused,
      error: { code: 'SERVER_OVERLOADED' },
    });
    reader.ask(atBound + 2, [question], atBound + 1);
    expect((await reader.answer(atBound + 2)).outcome).toBe(Outcome.Reported);
  }, 60_000);
});

describe('a server that does not read', () => {
  it('is sent a bounded part of what its client wants, and everything in order, once, when it reads', async () => {
    const server = await rawServer();
    const klock = bench.client(server.port);
    const first = klock.acquire('first', { waitMs: Infinity }).catch(() => undefined);
    await until(() => (server.streams[0]?.operations ?? 0) === 1);
    const stream = server.streams[0] as RawServerStream;
    await klock.close({ graceMs: 1 });
    await first;
    const sent = bytesSent('requestSerialize');
    const other = bench.client(server.port);
    const waits = [other.acquire('first', { waitMs: Infinity }).catch(() => undefined)];
    await until(() => (server.streams[1]?.operations ?? 0) === 1);
    expect(stream.halfClosed).toBe(true);
    const paused = server.streams[1] as RawServerStream;
    paused.pause();
    const before = sent();
    const asked = 20_000;
    for (let number = 1; number <= asked; number++) {
      const key = `${'k'.repeat(300)}${number}`;
      waits.push(other.acquire(key, { waitMs: Infinity }).catch(() => undefined));
    }
    await until(() => sent() > before);
    await real(500);
    const whilePaused = sent() - before;
    paused.resume();
    await until(() => paused.operations === asked + 1, 30_000);
    expect(sent() - before).toBeGreaterThan(6_000_000);
    expect(whilePaused).toBeLessThan(2_000_000);
    const names = paused.frames.flatMap(({ operations }) =>
      operations.map(({ l1 }) => l1.replace(/^k+/, '')),
    );
    expect(names).toEqual(['first', ...Array.from({ length: asked }, (_, index) => String(index + 1))]);
    await other.close({ graceMs: 1 });
    await Promise.all(waits);
  }, 60_000);

  it(`[D11] is asked for ${MAX_LOAD} things by one session; one more is refused at once, until some are answered`, async () => {
    // A hundred thousand errors at the end, nobody reads where they were made.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    bench.onEnd(() => (Error.stackTraceLimit = stackTraceLimit));
    const server = await rawServer();
    const klock = bench.client(server.port);
    const ask = (key: string): Promise<unknown> =>
      klock.acquire(key, { waitMs: Infinity }).catch((error: unknown) => error);
    const waits = [ask('k0')];
    await until(() => (server.streams[0]?.operations ?? 0) === 1);
    for (let number = 1; number < MAX_LOAD; number++) waits.push(ask(`k${number}`));
    const [stream] = server.streams;
    await until(() => stream?.operations === MAX_LOAD, 30_000);
    expect(await ask('beyond')).toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      retryable: true,
      message: expect.stringContaining(String(MAX_LOAD)) as string,
    });
    // One is answered, and one more may be asked for.
    const grant = {
      operation: 1,
      outcome: Outcome.Granted,
      token: 'lk',
      fence: 7n,
      span: 1,
      error: undefined,
      report: undefined,
    };
    stream?.write({ received: MAX_LOAD, firstMessage: 1, answers: [grant] });
    expect(await waits[0]).toMatchObject({ held: true });
    waits.push(ask('again'));
    await until(() => stream?.operations === MAX_LOAD + 1);
    expect(await ask('beyond')).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await klock.close({ graceMs: 1 });
    const codes = new Set(
      (await Promise.all(waits.slice(1))).map((error) => (error as { code: string }).code),
    );
    expect([...codes]).toEqual(['CLOSED']);
  }, 60_000);
});
