import { AuthToken } from './auth-token.js';
import { peerKey, RateLimiter } from './rate-limiter.js';
import { LockServer } from './index.js';
import { endRigs, rig } from './server.spec-support.js';

afterEach(endRigs);

describe('the token', () => {
  it('[K-116] without one, calls need no metadata', async () => {
    const at = await rig();
    expect((await at.client.create()).error).toBeUndefined();
  });

  it('[K-116] without one, a bind that others can reach is refused unless allowed by name', () => {
    for (const address of [':8080', '0.0.0.0:1', '[::]:1', '10.0.0.1:1', 'example.org:1']) {
      expect(() => new LockServer({ address })).toThrow(
        /^lock server: a setting is wrong: address must be a loopback/,
      );
      expect(() => new LockServer({ address, allowInsecurePublicBind: true })).not.toThrow();
      expect(() => new LockServer({ address, authToken: 't' })).not.toThrow();
    }
    for (const address of ['127.0.0.1:1', '127.8.8.8:1', 'localhost:1', '[::1]:1']) {
      expect(() => new LockServer({ address })).not.toThrow();
    }
  });

  it('[K-117] a missing or wrong one is Unauthenticated with one text, for calls and streams', async () => {
    const at = await rig({ authToken: 'secret' });
    const details: string[] = [];
    for (const header of [undefined, 'Bearer wrong', 'Bearer ', 'Basic secret', 'secret', '']) {
      const client = at.connect(header);
      await client.create().catch((error: { code: number; details: string }) => {
        expect(error.code).toBe(16);
        details.push(error.details);
      });
      expect(await client.watch({ sessionId: 's' }).ended).toBe(16);
    }
    expect(details.length).toBe(6);
    expect(new Set(details).size).toBe(1);
    expect((await at.client.create()).error).toBeUndefined();
    expect(at.server.counters).toMatchObject({ auth_failures: 12, unary_calls: 1, stream_calls: 0 });
  });

  it('[K-118] Bearer counts in any letter case, blanks around it and the token do not', async () => {
    const at = await rig({ authToken: ' secret \n' });
    for (const header of ['bearer secret', 'BEARER secret', 'BeArEr   secret', 'Bearer secret']) {
      expect((await at.connect(header).create()).error).toBeUndefined();
    }
  });

  it('[K-118] blanks around the whole value are ignored too, wherever they come from', () => {
    expect(new AuthToken('secret', false).accepts('  Bearer  secret \t')).toBe(true);
  });

  it('[K-119] a token without the word is taken only where that was asked for', () => {
    expect(new AuthToken('secret', true).accepts(' secret ')).toBe(true);
    expect(new AuthToken('secret', true).accepts('Bearer secret')).toBe(true);
    expect(new AuthToken('secret', true).accepts('')).toBe(false);
    expect(new AuthToken('secret', false).accepts('secret')).toBe(false);
  });

  it('[K-129] who has no token can do nothing with a session, even knowing its id', async () => {
    const at = await rig({ authToken: 'secret' });
    const sessionId = await at.client.session();
    const { token } = await at.client.acquire({ sessionId, requestId: 'r' });
    const stranger = at.connect('Bearer guess');
    const attempts = [
      stranger.heartbeat(sessionId),
      stranger.acquire({ sessionId, requestId: 'r' }),
      stranger.release({ sessionId, token }),
      stranger.closeSession(sessionId),
    ];
    for (const attempt of attempts) await expect(attempt).rejects.toMatchObject({ code: 16 });
    expect(await stranger.watch({ sessionId }).ended).toBe(16);
    expect(at.server.stats).toMatchObject({ sessions: 1, locks: 1 });
  });

  it.each(['', 's', 'secre', 'secres', 'Secret', 'secret1', 'x'.repeat(10_000), '\u00e9'])(
    '[K-120] %j differs by content or length and is refused',
    (token) => {
      const auth = new AuthToken('secret', true);
      expect([auth.accepts(token), auth.accepts(`Bearer ${token}`)]).toEqual([false, false]);
    },
  );

  it('[K-120] equal and unequal tokens of any length are compared as digests of one length', () => {
    const auth = new AuthToken('secret', false);
    for (const value of [undefined, 7, Buffer.from('secret')]) expect(auth.accepts(value)).toBe(false);
    expect(auth.accepts('Bearer secret')).toBe(true);
  });
});

describe('the rate limit', () => {
  it('[K-121] [K-127] refuses calls and streams over the rate, but never what keeps or frees a lock', async () => {
    const at = await rig({ rateLimit: { rps: 1, burst: 2 } });
    const { client } = at;
    const sessionId = await client.session();
    await client.session();
    await expect(client.create()).rejects.toMatchObject({ code: 8 });
    const { token } = await client.acquire({ sessionId, p1: 'a' });
    await client.acquire({ sessionId, p1: 'b' });
    await expect(client.acquire({ sessionId, p1: 'c' })).rejects.toMatchObject({ code: 8 });
    const watches = [1, 2, 3].map(() => client.watch({ sessionId }));
    expect(await watches[2]!.ended).toBe(8);
    for (let call = 0; call < 20; call++) expect((await client.heartbeat(sessionId)).error).toBeUndefined();
    expect((await client.release({ sessionId, token })).ok).toBe(true);
    expect((await client.closeSession(sessionId)).closed).toBe(true);
    expect(at.server.counters).toMatchObject({ rate_limited: 3, rate_limiter_entries: 3 });
  });

  it('[K-121] counts calls with a wrong token too', async () => {
    const at = await rig({ authToken: 'secret', rateLimit: { rps: 1, burst: 2 } });
    const guesser = at.connect('Bearer guess');
    const codes: number[] = [];
    for (let guess = 0; guess < 4; guess++)
      await guesser.create().catch(({ code }) => codes.push(code as number));
    expect(codes).toEqual([16, 16, 8, 8]);
  });

  it('[K-124] all connections of one host share a bucket', async () => {
    const at = await rig({ rateLimit: { rps: 1, burst: 2 } });
    await at.connect().create();
    await at.connect().create();
    await expect(at.connect().create()).rejects.toMatchObject({ code: 8 });
    await at.clock.advance(1_000);
    await at.connect().create();
  });

  it('[K-126] can be switched off', async () => {
    const at = await rig({ rateLimit: false });
    for (let call = 0; call < 50; call++) await at.client.create();
    expect(at.server.counters).toMatchObject({ rate_limited: 0, rate_limiter_entries: 0 });
  });

  it('[K-122] a bucket fills again with time, up to its burst', () => {
    const limiter = new RateLimiter(10, 3);
    const burst = (nowMs: number): number => {
      let allowed = 0;
      while (limiter.allow('k', nowMs)) allowed++;
      return allowed;
    };
    expect([burst(0), burst(0), burst(100), burst(350), burst(60_000)]).toEqual([3, 0, 1, 2, 3]);
  });

  it('[K-123] the number of buckets is bounded, the least recently used goes first', () => {
    const limiter = new RateLimiter(1, 1, 2);
    for (const key of ['a', 'b', 'a', 'c']) limiter.allow(key, 0);
    expect(limiter.size).toBe(2);
    expect(limiter.allow('a', 0)).toBe(false);
    expect(limiter.allow('b', 0)).toBe(true);
  });

  it('[K-123] forgetting the oldest costs the same however many there are', () => {
    const limiter = new RateLimiter(1, 1);
    for (let peer = 0; peer < 200_000; peer++) limiter.allow(`p${peer}`, 0);
    expect(limiter.size).toBe(50_000);
  });

  it('[K-125] buckets idle for two minutes are swept', () => {
    const limiter = new RateLimiter(1, 1);
    limiter.allow('old', 0);
    limiter.allow('new', 90_000);
    limiter.allow('now', 119_999);
    expect(limiter.size).toBe(3);
    limiter.allow('now', 180_000);
    expect(limiter.size).toBe(2);
  });

  it('[K-126] rps of 0 or less means 200, burst of 0 or less twice rps', () => {
    const count = (rps: number, burst: number): number => {
      const limiter = new RateLimiter(rps, burst);
      let allowed = 0;
      while (limiter.allow('k', 0)) allowed++;
      return allowed;
    };
    expect([count(0, 0), count(-1, -1), count(7, 0), count(7, 3)]).toEqual([400, 400, 14, 3]);
  });

  it.each([
    ['10.1.2.3', '10.1.2.3'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['::1', '0:0:0:0::/64'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:1:2::9', '2001:db8:1:2::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['', 'unknown'],
    [undefined, 'unknown'],
  ])('[K-124] the peer %s is counted as %s', (address, key) => {
    expect(peerKey(address)).toBe(key);
  });
});
