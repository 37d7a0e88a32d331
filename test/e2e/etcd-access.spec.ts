import { isLockError } from 'klock/core';
import { EtcdRig, failure } from '../support/etcd-rig.js';
import { TlsFront, clientCertificate } from '../support/tls-front.js';

const rig = new EtcdRig();
beforeAll(() => rig.start(), 30_000);
afterAll(() => rig.stop());
afterEach(() => rig.closeAll());

const codeOf = (error: unknown): string => (isLockError(error) ? error.code : String(error));

describe('etcd behind TLS', () => {
  let front: TlsFront;
  beforeAll(async () => {
    front = await TlsFront.start(rig.etcd.members[0]!.port);
  });
  afterAll(async () => {
    await rig.closeAll();
    await front.stop();
  });

  const { ca, cert, key } = clientCertificate;
  const hosts = (): string => `https://localhost:${front.port}`;

  it('takes locks of a client that shows its certificate', async () => {
    const klock = rig.client({}, { hosts: hosts(), tls: { ca, cert, key } });
    const name = rig.key();
    const lock = await klock.acquire(name);
    expect(await rig.client().tryAcquire(name)).toBeUndefined();
    expect(await lock.release()).toBe('released');
  });

  it('checks the name the member shows, its own or the one given', async () => {
    const tls = { ca, cert, key };
    const named = rig.client({}, { hosts: hosts(), tls: { ...tls, serverName: 'server.klock.test' } });
    expect((await named.driver.health()).state).toBe('ok');
    const other = rig.client(
      {},
      { hosts: hosts(), tls: { ...tls, serverName: 'other.klock.test' }, callTimeoutMs: 100 },
    );
    expect(codeOf(await failure(other.driver.ready(300)))).toBe('LOCK_UNAVAILABLE');
  });

  it('is not spoken to without trust in its certificate', async () => {
    const klock = rig.client({}, { hosts: hosts(), tls: { cert, key }, callTimeoutMs: 100 });
    const error = await failure(klock.driver.ready(300));
    expect(isLockError(error, 'LOCK_UNAVAILABLE') && error.cause !== undefined).toBe(true);
  });
});

/** Last of the file: from here on the cluster wants a password. */
describe('etcd with users', () => {
  const password = 'correct horse';
  beforeAll(() => rig.admin.enableAuth(password));

  it('grants, renews, wakes and reports for a user that may use the prefix', async () => {
    const login = { username: 'app', password };
    const [a, b] = [rig.client({ ttlMs: 1_000 }, login), rig.client({}, login)];
    const key = rig.key();
    const lock = await a.acquire(key);
    const waiting = b.acquire(key, { waitMs: 10_000 });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(lock.held).toBe(true);
    expect((await a.inspect(key)).holders).toHaveLength(1);
    await lock.release();
    expect((await waiting).held).toBe(true);
  });

  it.each([
    ['no user', {}],
    ['a wrong password', { username: 'app', password: 'wrong' }],
    ['a prefix it may not use', { username: 'app', password, prefix: 'other' }],
  ])(
    '[D-59] refuses %s for good: BACKEND_MISCONFIGURED at once, from ready, acquire and health',
    async (_, options) => {
      const klock = rig.client({}, options);
      const startMs = performance.now();
      const error = await failure(klock.acquire('k'));
      expect([codeOf(error), isLockError(error) && error.retryable]).toEqual([
        'BACKEND_MISCONFIGURED',
        false,
      ]);
      expect(codeOf(await failure(klock.driver.ready(2_000)))).toBe('BACKEND_MISCONFIGURED');
      expect((await klock.driver.health()).state).toBe('misconfigured');
      expect(performance.now() - startMs).toBeLessThan(2_000);
      expect(String((error as Error).message)).not.toContain('wrong');
    },
  );
});
