import { createKlock, type KlockInstance } from 'klock/core';
import { klockDriver } from 'klock/client';
import { openHostedServer, type HostedServer } from '../../lib/nest-server/hosted-server.js';
import type { ServerLog } from '../../lib/server/index.js';

describe('a lock server in an application that holds locks of it itself', () => {
  let hosted: HostedServer;
  let own: KlockInstance;
  let remote: KlockInstance;
  let logged: object[];

  beforeEach(async () => {
    logged = [];
    const log: ServerLog = {
      enabled: () => true,
      write: (_, event, facts = {}) => void logged.push({ event, ...facts }),
    };
    hosted = await openHostedServer({
      address: '127.0.0.1:0',
      log,
      mayRevoke: ({ client }) => client === 'ops',
    });
    own = createKlock({ driver: hosted.driver, clientName: 'host' });
    remote = createKlock({
      driver: klockDriver({ url: `klock://${hosted.server.address}` }),
      clientName: 'ops',
    });
  });
  afterEach(async () => {
    await Promise.all([own.close(), remote.close()]);
    await hosted.close();
  });

  it('[B-081] an operator elsewhere ends a lock of the application, which has lost it before anybody else holds', async () => {
    const lock = await own.acquire('k');
    let heldAtGrant: boolean | undefined;
    const next = own.acquire('k').then((granted) => {
      heldAtGrant = lock.held;
      return granted;
    });
    const { ended } = await remote.revoke('k', { fence: lock.fence });
    expect(ended).toMatchObject([{ key: ['k'], fence: lock.fence, client: 'host' }]);
    expect(await lock.done).toMatchObject({ end: 'lost', reason: 'revoked', code: 'REVOKED' });
    expect((await next).fence).toBeGreaterThan(lock.fence);
    expect(heldAtGrant).toBe(false);
  });

  it('[B-081] the application ends a lock of a client elsewhere, whatever mayRevoke says of callers from outside', async () => {
    const lock = await remote.acquire(['k', 'x']);
    expect((await own.revoke('k', { below: true })).endedCount).toBe(1);
    expect(await lock.done).toMatchObject({ end: 'lost', reason: 'revoked', code: 'REVOKED' });
    expect(logged).toContainEqual(
      expect.objectContaining({
        event: 'lock_revoked',
        key: '"k" / "x"',
        fence: String(lock.fence),
        by: 'host',
      }),
    );
  });

  it('[I12] whoever gives up in the turn in which the revoked lock would have become theirs leaves none behind', async () => {
    const lock = await own.acquire('k');
    const giveUp = new AbortController();
    lock.signal.addEventListener('abort', () => giveUp.abort());
    const waiting = own.acquire('k', { signal: giveUp.signal }).catch((error: unknown) => error);
    await remote.revoke('k');
    expect(await waiting).toMatchObject({ code: 'LOCK_ABORTED' });
    expect(await remote.isLocked('k')).toBe(false);
  });

  it('[I12] an instance of the application that closes takes its waiters out of the line', async () => {
    const lock = await remote.acquire('k');
    const waiting = own.acquire('k', { waitMs: Infinity }).catch((error: unknown) => error);
    await remote.inspect('k').then(({ waiters }) => expect(waiters).toHaveLength(1));
    await own.close();
    expect(await waiting).toMatchObject({ code: 'CLOSED' });
    expect((await remote.inspect('k')).waiters).toEqual([]);
    expect(await lock.release()).toBe('released');
  });
});
