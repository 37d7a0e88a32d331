import { readFileSync } from 'node:fs';
import { isLockError } from '../../core/index.js';
import { resolveEtcdOptions, type EtcdOptions } from './etcd-options.js';
import { etcdDriver } from './index.js';

const file = (name: string): string => readFileSync(`test/support/etcd-certs/${name}.pem`, 'utf8');
const [CA, CERT, KEY, OTHER_KEY] = ['ca', 'client', 'client-key', 'server-key'].map(file) as [
  string,
  string,
  string,
  string,
];
const BROKEN = '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----';

function refusal(options: unknown): { option: string; message: string } {
  try {
    etcdDriver(options as EtcdOptions);
  } catch (error) {
    if (isLockError(error, 'INVALID_OPTION')) return error as unknown as { option: string; message: string };
    throw error;
  }
  throw new Error('was accepted');
}

describe('the options of the etcd driver', () => {
  it('[D-60] make a driver that has contacted nobody', () => {
    expect(etcdDriver({ hosts: 'no-such-host.invalid:1' }).capabilities.leaseUnitMs).toBe(1_000);
  });

  it('[D-07] default to prefix klock, calls of 800 ms and no TLS', () => {
    expect(resolveEtcdOptions({ hosts: 'a' })).toEqual({
      hosts: ['a:2379'],
      prefix: 'klock',
      login: undefined,
      tls: undefined,
      callTimeoutMs: 800,
    });
  });

  it('[D-06] leave the given object as it is', () => {
    const hosts = ['http://a:1', 'b:2'];
    const options = Object.freeze({ hosts: Object.freeze(hosts) });
    resolveEtcdOptions(options);
    expect(hosts).toEqual(['http://a:1', 'b:2']);
  });

  it('name one store alike whatever the order of the hosts, and another prefix otherwise', () => {
    const store = (options: EtcdOptions): string => etcdDriver(options).store;
    expect(store({ hosts: ['b', 'a'] })).toBe(store({ hosts: ['http://a:2379', 'b:2379'] }));
    expect(store({ hosts: 'a', prefix: 'x' })).not.toBe(store({ hosts: 'a' }));
  });

  it('take IPv6 hosts, and https as TLS', () => {
    const { hosts, tls } = resolveEtcdOptions({ hosts: ['https://[::1]:2379', 'https://b'] });
    expect([hosts, tls !== undefined]).toEqual([['[::1]:2379', 'b:2379'], true]);
  });

  it('take a client certificate as text or bytes', () => {
    const { tls } = resolveEtcdOptions({ hosts: 'a', tls: { ca: CA, cert: Buffer.from(CERT), key: KEY } });
    expect([tls?.ca?.toString(), tls?.cert?.toString()]).toEqual([CA, CERT]);
  });

  it.each<[string, unknown]>([
    ['etcd', undefined],
    ['etcd', null],
    ['etcd.hosts', {}],
    ['etcd.hosts', { hosts: [] }],
    ['etcd.hosts', { hosts: '' }],
    ['etcd.hosts', { hosts: 'a:0' }],
    ['etcd.hosts[1]', { hosts: ['a', 'b:99999'] }],
    ['etcd.hosts', { hosts: 'ftp://a' }],
    ['etcd.hosts', { hosts: ['https://a', 'http://b'] }],
    ['etcd.hosts', { hosts: 'http://a', transport: 'tls' }],
    ['etcd.hosts', { hosts: 'https://a', transport: 'insecure' }],
    ['etcd.prefix', { hosts: 'a', prefix: '' }],
    ['etcd.transport', { hosts: 'a', transport: 'none' }],
    ['etcd.callTimeoutMs', { hosts: 'a', callTimeoutMs: 0.5 }],
    ['etcd.tls', { hosts: 'a', tls: null }],
    ['etcd.tls', { hosts: 'a', tls: {}, transport: 'insecure' }],
    ['etcd.tls.key', { hosts: 'a', tls: { cert: CERT } }],
    ['etcd.tls.ca', { hosts: 'a', tls: { ca: 'no certificate' } }],
    ['etcd.username', { hosts: 'localhost', password: 'p' }],
    ['etcd.password', { hosts: 'localhost', username: 'u' }],
    ['etcd.password', { hosts: 'localhost', username: 'u', password: '' }],
    ['etcd.transport', { hosts: ['localhost', 'db.example'], username: 'u', password: 'p' }],
    ['endpoints', { hosts: 'a', endpoints: 'b' }],
  ])('[D-01] [D-02] [D-03] [D-04] are refused naming %s: %j', (option, options) => {
    const { option: named, message } = refusal(options);
    expect(option.endsWith('endpoints') ? message : named).toContain(option);
  });

  it.each([
    ['etcd.tls.ca', { ca: BROKEN }],
    ['etcd.tls.cert', { cert: BROKEN, key: KEY }],
    ['etcd.tls.key', { cert: CERT, key: BROKEN }],
    ['etcd.tls.key', { cert: CERT, key: OTHER_KEY }],
  ])('[D-02] [D-60] are refused naming %s where no TLS could be made of it', (option, tls) => {
    expect(refusal({ hosts: 'a', tls })).toMatchObject({ option });
  });

  it('are refused without showing a key or password', () => {
    expect(refusal({ hosts: 'a', tls: { ca: 'SECRET' } }).message).not.toContain('SECRET');
    expect(refusal({ hosts: 'far', username: 'u', password: 'SECRET' }).message).not.toContain('SECRET');
  });

  it('let a password go in clear on this machine, and elsewhere where that is asked for', () => {
    expect(resolveEtcdOptions({ hosts: '127.0.0.1', username: 'u', password: 'p' }).login).toBeDefined();
    const far = { hosts: 'far', username: 'u', password: 'p', transport: 'insecure' } as const;
    expect(resolveEtcdOptions(far).tls).toBeUndefined();
  });
});
