import { EventEmitter } from 'node:events';
import { linkTo, isRedisClient, redisScript, type RedisClientLike } from './index.js';

class FakeIoredis extends EventEmitter {
  status = 'ready';
  options = { host: 'redis.internal', port: 6380, db: 2, password: 'secret' };
  readonly calls: unknown[][] = [];
  known = true;
  evalsha(...args: unknown[]): Promise<unknown> {
    this.calls.push(['evalsha', ...args]);
    return this.known ? Promise.resolve('by sha') : Promise.reject(new Error('NOSCRIPT No matching script.'));
  }
  eval(...args: unknown[]): Promise<unknown> {
    this.calls.push(['eval', ...args]);
    return Promise.resolve('by text');
  }
  call = (): Promise<unknown> => Promise.resolve(1);
  duplicate = (): FakeIoredis => new FakeIoredis();
}

class FakeNodeRedis extends EventEmitter {
  isOpen = true;
  isReady = true;
  options = { url: 'redis://user:secret@redis.internal:6380/3' };
  evalSha = (): Promise<unknown> => Promise.resolve(undefined);
  subscribe = (): Promise<unknown> => Promise.resolve(undefined);
  duplicate = (): FakeNodeRedis => new FakeNodeRedis();
}

const like = (client: object): RedisClientLike => client as unknown as RedisClientLike;

describe('linkTo', () => {
  it('recognises a client by what it can do', () => {
    expect(linkTo(like(new FakeIoredis()))).toMatchObject({ library: 'ioredis', topology: 'single' });
    const behindSentinel = Object.assign(new FakeIoredis(), { options: { sentinels: [{}], name: 'main' } });
    expect(linkTo(like(behindSentinel))).toMatchObject({ topology: 'sentinel', address: 'sentinel:main/0' });
    const cluster = Object.assign(new FakeIoredis(), {
      nodes: () => [],
      slots: [['a:1', 'b:2']],
      startupNodes: [
        { host: 'b', port: 2 },
        { host: 'a', port: 1 },
      ],
    });
    expect(linkTo(like(cluster))).toMatchObject({ topology: 'cluster', address: 'a:1,b:2' });
    expect(linkTo(like(cluster)).nodeOf(0)).toBe('a:1');
    expect(linkTo(like(cluster)).nodeOf(7)).toBe('');
    expect(linkTo(like(new FakeNodeRedis()))).toMatchObject({ library: 'node-redis', topology: 'single' });
    const sentinel = Object.assign(new FakeNodeRedis(), { acquire: () => 0, getMasterNode: () => 0 });
    expect(linkTo(like(sentinel))).toMatchObject({ topology: 'sentinel', seesConnections: false });
    const nodeCluster = Object.assign(new FakeNodeRedis(), { nodeClient: () => 0, slots: [] });
    expect(linkTo(like(nodeCluster))).toMatchObject({ topology: 'cluster' });
  });

  it('names the address of a client, never its credentials', () => {
    expect(linkTo(like(new FakeIoredis())).address).toBe('redis.internal:6380/2');
    expect(linkTo(like(new FakeNodeRedis())).address).toBe('redis.internal:6380/3');
    const cluster = Object.assign(new FakeNodeRedis(), {
      nodeClient: () => 0,
      slots: [],
      _options: { rootNodes: [{ url: 'redis://user:secret@b:2/0' }, { socket: { host: 'a', port: 1 } }] },
    });
    expect(linkTo(like(cluster)).address).toBe('a:1,b:2');
  });

  it('[D-56] names the prefix that the client itself puts before every key: locks under another are others', () => {
    const options = { host: 'redis.internal', port: 6380, db: 2, password: 'secret' };
    const withPrefix = Object.assign(new FakeIoredis(), { options: { ...options, keyPrefix: 'shop:' } });
    expect(linkTo(like(withPrefix))).toMatchObject({
      keyPrefix: 'shop:',
      address: 'redis.internal:6380/2/shop:',
    });
    const cluster = Object.assign(new FakeIoredis(), {
      nodes: () => [],
      startupNodes: ['a:1'],
      options: { ...options, keyPrefix: Buffer.from('shop:') },
    });
    expect(linkTo(like(cluster))).toMatchObject({ keyPrefix: 'shop:', address: 'a:1/shop:' });
    const nodeRedis = Object.assign(new FakeNodeRedis(), { _keyPrefix: 'shop:' });
    expect(linkTo(like(nodeRedis))).toMatchObject({
      keyPrefix: 'shop:',
      address: 'redis.internal:6380/3/shop:',
    });
    expect(linkTo(like(new FakeNodeRedis()))).toMatchObject({ keyPrefix: '' });
  });

  it.each([[undefined], [null], ['redis://'], [{}], [new EventEmitter()], [{ evalsha: () => 0 }]])(
    'refuses %p by name',
    (value) => {
      expect(isRedisClient(value)).toBe(false);
      expect(() => linkTo(value as never)).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTION', option: 'redis' }) as Error,
      );
    },
  );

  it('asks by SHA-1, and by text only a server that has forgotten the script [B-040]', async () => {
    const client = new FakeIoredis();
    const link = linkTo(like(client));
    const script = redisScript('return 1');
    expect(await link.run(script, ['k'], ['a', 'b'])).toBe('by sha');
    client.known = false;
    expect(await link.run(script, ['k'], ['a', 'b'])).toBe('by text');
    expect(client.calls).toEqual([
      ['evalsha', script.sha1, 1, 'k', 'a', 'b'],
      ['evalsha', script.sha1, 1, 'k', 'a', 'b'],
      ['eval', script.text, 1, 'k', 'a', 'b'],
    ]);
  });

  it('counts changes of the connection, remembers trouble until it is connected, and takes its listeners back', () => {
    const client = new FakeIoredis();
    const link = linkTo(like(client));
    let told = 0;
    link.onChange(() => void told++);
    client.status = 'reconnecting';
    client.emit('close');
    const trouble = new Error('WRONGPASS');
    client.emit('error', trouble);
    expect(link).toMatchObject({ state: 'connecting', epoch: 1, trouble });
    client.status = 'ready';
    client.emit('ready');
    expect(link).toMatchObject({ state: 'ready', epoch: 2, trouble: undefined });
    expect(told).toBe(3);
    client.status = 'end';
    expect(link.state).toBe('closed');
    link.detach();
    expect(client.eventNames()).toEqual([]);
  });
});
