import {
  InvalidOptionError,
  checkDuration,
  checkLabel,
  checkOneOf,
  optionError,
  quote,
  refuseUnknown,
} from '../../core/index.js';
import { DEFAULT_CALL_TIMEOUT_MS } from './bounds.js';
import { checkTlsMaterial } from './tls-material.js';

/** TLS towards etcd. Text or bytes in PEM form. */
export interface EtcdTlsOptions {
  /** Certificates to trust. Default: those of the system. */
  readonly ca?: string | Uint8Array;
  /** The client's certificate; needs `key`. */
  readonly cert?: string | Uint8Array;
  readonly key?: string | Uint8Array;
  /** The name that the members' certificates must carry, where it is not the host's. */
  readonly serverName?: string;
}

/** Where and how klock reaches etcd. */
export interface EtcdOptions {
  /** The members: `host:port`, `http://host:port` or `https://host:port`; the port defaults to 2379. */
  readonly hosts: string | readonly string[];
  /** First part of every key in etcd. Default `klock`. */
  readonly prefix?: string;
  readonly username?: string;
  readonly password?: string;
  readonly tls?: EtcdTlsOptions;
  /** `auto`: TLS for https hosts or where `tls` is given. `insecure` allows a password in clear to other machines. Default `auto`. */
  readonly transport?: 'auto' | 'tls' | 'insecure';
  /** Deadline of one call on one member, in milliseconds; then the next member is asked. Default 800. */
  readonly callTimeoutMs?: number;
}

/** Options checked, defaults filled in. */
export interface EtcdSettings {
  /** `host:port` each. */
  readonly hosts: readonly string[];
  readonly prefix: string;
  readonly login: { readonly name: string; readonly password: string } | undefined;
  /** Undefined: no TLS. */
  readonly tls: ResolvedTls | undefined;
  readonly callTimeoutMs: number;
}

export interface ResolvedTls {
  readonly ca: Buffer | undefined;
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
  readonly serverName: string | undefined;
}

const KNOWN = ['hosts', 'prefix', 'username', 'password', 'tls', 'transport', 'callTimeoutMs'];
const DEFAULT_PORT = 2_379;
const HOST = /^(?:(https?):\/\/)?(\[[0-9a-f:.%]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?\/?$/i;

/** Checks what was given, before anything is contacted. @throws InvalidOptionError naming the option and its value. */
export function resolveEtcdOptions(options: EtcdOptions): EtcdSettings {
  if (typeof options !== 'object' || options === null) throw optionError('etcd', 'an object', options);
  refuseUnknown('etcd', options, KNOWN);
  const hosts = hostsOf(options.hosts);
  const transport =
    options.transport === undefined
      ? 'auto'
      : checkOneOf('etcd.transport', ['auto', 'tls', 'insecure'], options.transport);
  const tls = tlsOf(options, transport, hosts);
  const login = loginOf(options);
  if (login !== undefined && tls === undefined && transport !== 'insecure') refuseClearPassword(hosts);
  return {
    hosts: [...new Set(hosts.map((host) => host.address))],
    prefix: options.prefix === undefined ? 'klock' : checkLabel('etcd.prefix', options.prefix),
    login,
    tls,
    callTimeoutMs:
      options.callTimeoutMs === undefined
        ? DEFAULT_CALL_TIMEOUT_MS
        : checkDuration('etcd.callTimeoutMs', options.callTimeoutMs),
  };
}

interface Host {
  readonly address: string;
  readonly name: string;
  readonly scheme: string | undefined;
}

function hostsOf(given: unknown): readonly Host[] {
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (list.length === 0) throw optionError('etcd.hosts', 'at least one host', given);
  return list.map((host, index) =>
    hostOf(host, Array.isArray(given) ? `etcd.hosts[${index}]` : 'etcd.hosts'),
  );
}

function hostOf(given: unknown, option: string): Host {
  const match = typeof given === 'string' ? HOST.exec(given.trim()) : null;
  const port = Number(match?.[3] ?? DEFAULT_PORT);
  if (match === null || port < 1 || port > 65_535) {
    throw optionError(option, "'host:port', 'http://host:port' or 'https://host:port'", given);
  }
  const name = match[2] as string;
  return { address: `${name}:${port}`, name, scheme: match[1]?.toLowerCase() };
}

function tlsOf(
  options: EtcdOptions,
  transport: 'auto' | 'tls' | 'insecure',
  hosts: readonly Host[],
): ResolvedTls | undefined {
  const secure = hosts.filter((host) => host.scheme === 'https').length;
  const plain = hosts.filter((host) => host.scheme === 'http').length;
  if (secure > 0 && (plain > 0 || transport === 'insecure')) {
    throw optionError(
      'etcd.hosts',
      'all https or all http, and no https with transport insecure',
      options.hosts,
    );
  }
  const wanted = transport === 'tls' || secure > 0 || (options.tls !== undefined && transport === 'auto');
  if (!wanted) {
    if (options.tls !== undefined)
      throw optionError('etcd.tls', "left out with transport 'insecure'", options.tls);
    return undefined;
  }
  if (plain > 0) throw optionError('etcd.hosts', 'https where TLS is asked for', options.hosts);
  return certificatesOf(options.tls === undefined ? {} : options.tls);
}

function certificatesOf(tls: EtcdTlsOptions): ResolvedTls {
  if (typeof tls !== 'object' || tls === null) throw optionError('etcd.tls', 'an object', tls);
  refuseUnknown('etcd.tls', tls, ['ca', 'cert', 'key', 'serverName']);
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    throw new InvalidOptionError('etcd.tls.cert and etcd.tls.key must be given together', {
      option: tls.cert === undefined ? 'etcd.tls.cert' : 'etcd.tls.key',
      value: undefined,
    });
  }
  const material = {
    ca: pem('etcd.tls.ca', tls.ca),
    cert: pem('etcd.tls.cert', tls.cert),
    key: pem('etcd.tls.key', tls.key),
  };
  checkTlsMaterial(material);
  return {
    ...material,
    serverName: tls.serverName === undefined ? undefined : checkLabel('etcd.tls.serverName', tls.serverName),
  };
}

function pem(option: string, value: unknown): Buffer | undefined {
  if (value === undefined) return undefined;
  const bytes =
    typeof value === 'string' || value instanceof Uint8Array ? Buffer.from(value as string) : undefined;
  if (bytes !== undefined && bytes.includes('-----BEGIN ')) return bytes;
  // Not quoted: it may be a private key.
  throw new InvalidOptionError(`${option} must be text or bytes in PEM form`, {
    option,
    value: typeof value,
  });
}

function loginOf({ username, password }: EtcdOptions): EtcdSettings['login'] {
  if (username === undefined && password === undefined) return undefined;
  if (typeof username !== 'string' || username === '')
    throw optionError('etcd.username', 'a non-empty string where a password is given', username);
  if (typeof password !== 'string' || password === '') {
    throw new InvalidOptionError('etcd.password must be a non-empty string where a username is given', {
      option: 'etcd.password',
      value: typeof password,
    });
  }
  return { name: username, password };
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i;

function refuseClearPassword(hosts: readonly Host[]): void {
  const far = hosts.find((host) => !LOOPBACK.test(host.name));
  if (far === undefined) return;
  throw new InvalidOptionError(
    `etcd.password would go to ${quote(far.address)} in clear: use https, or say transport: 'insecure'`,
    { option: 'etcd.transport', value: 'auto' },
  );
}
