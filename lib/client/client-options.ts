import {
  checkDuration,
  checkOneOf,
  InvalidOptionError,
  optionError,
  quote,
  refuseUnknown,
} from '../core/index.js';
import { MIN_PING_INTERVAL_MS } from '../rpc/index.js';
import { isLoopback, parseAddress, type ServerAddress } from './address.js';

/** Whether connections are encrypted: by the url's scheme, always, or never. */
export type Transport = 'auto' | 'tls' | 'insecure';

/** How a client reaches the lock server and keeps its sessions. All durations are whole milliseconds. */
export interface ClientOptions {
  /**
   * `klock://host:port` plain, `klocks://host:port` TLS (also `grpc://`, `grpcs://`); no scheme means plain, no port 8080.
   * Several: addresses of one and the same server, tried in turn.
   */
  readonly url: string | readonly string[];
  /** Sent as `authorization: Bearer …` with every call. Blank means none. */
  readonly authToken?: string;
  /** Default `auto`: TLS if the url's scheme says so. */
  readonly transport?: Transport;
  /** Certificate authorities in PEM form instead of the system's. */
  readonly ca?: string | Buffer;
  /** Lease of the session that carries locks of the instance's own `ttlMs`; at least that. Default: `ttlMs` + `leaseBufferMs`. */
  readonly sessionLeaseMs?: number;
  /** Added to every lease asked of the server: how much longer than a lock's ttl it may be kept after a crash. Default none. */
  readonly leaseBufferMs?: number;
  /** How long one attempt to connect may take. Default 2,000. */
  readonly connectTimeoutMs?: number;
  /** A connection without traffic is tried this often; at least 10,000, the default. */
  readonly keepaliveMs?: number;
  /** What a lost watch means: `hint`, nothing but later notice (default); `strict`, after 5 s the end of the session. */
  readonly watch?: 'hint' | 'strict';
  /** A session without lock, waiter or open question is closed after this long. Default 30,000. */
  readonly idleSessionMs?: number;
}

export const CLIENT_OPTION_NAMES = [
  'url',
  'authToken',
  'transport',
  'ca',
  'sessionLeaseMs',
  'leaseBufferMs',
  'connectTimeoutMs',
  'keepaliveMs',
  'watch',
  'idleSessionMs',
] as const satisfies readonly (keyof ClientOptions)[];

/** An address with the decision whether to encrypt. */
export interface Target extends ServerAddress {
  readonly tls: boolean;
}

export interface ResolvedClientOptions {
  readonly targets: readonly [Target, ...Target[]];
  readonly authToken: string | undefined;
  readonly ca: string | Buffer | undefined;
  readonly sessionLeaseMs: number | undefined;
  readonly leaseBufferMs: number;
  readonly connectTimeoutMs: number;
  readonly keepaliveMs: number;
  readonly strictWatch: boolean;
  readonly idleSessionMs: number;
}

const DEFAULT_CONNECT_TIMEOUT_MS = 2_000;
const DEFAULT_IDLE_SESSION_MS = 30_000;

/** Checks everything that can be checked without a connection. @throws InvalidOptionError naming field and value. */
export function resolveClientOptions(options: ClientOptions): ResolvedClientOptions {
  if (typeof options !== 'object' || options === null) throw optionError('options', 'an object', options);
  refuseUnknown('the klock driver', options, CLIENT_OPTION_NAMES);
  const { watch = 'hint' } = options;
  const authToken = checkToken(options.authToken);
  const transport = checkTransport(options.transport);
  const targets = checkUrls(options.url).map((address) => secureOf(address, transport, authToken));
  return {
    targets: targets as [Target, ...Target[]],
    authToken,
    ca: checkCa(options.ca),
    sessionLeaseMs: optionalDuration('sessionLeaseMs', options.sessionLeaseMs),
    leaseBufferMs: optionalDuration('leaseBufferMs', options.leaseBufferMs) ?? 0,
    connectTimeoutMs:
      optionalDuration('connectTimeoutMs', options.connectTimeoutMs) ?? DEFAULT_CONNECT_TIMEOUT_MS,
    keepaliveMs: checkKeepalive(options.keepaliveMs),
    strictWatch: checkOneOf('watch', ['hint', 'strict'], watch) === 'strict',
    idleSessionMs: optionalDuration('idleSessionMs', options.idleSessionMs) ?? DEFAULT_IDLE_SESSION_MS,
  };
}

function checkUrls(url: unknown): readonly ServerAddress[] {
  if (!Array.isArray(url)) return [parseAddress('url', url)];
  if (url.length === 0) throw optionError('url', 'one address or a list with at least one', url);
  return url.map((entry, index) => parseAddress(`url[${index}]`, entry));
}

function checkTransport(value: unknown): Transport {
  if (value === undefined) return 'auto';
  const word = typeof value === 'string' ? value.trim().toLowerCase() : value;
  return word === '' ? 'auto' : checkOneOf('transport', ['auto', 'tls', 'insecure'], word);
}

/** The token never appears in an error: errors are logged. */
function checkToken(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const token = typeof value === 'string' ? value.trim() : undefined;
  if (token !== undefined && /^[\x21-\x7e]*$/.test(token)) return token === '' ? undefined : token;
  throw new InvalidOptionError(
    'authToken must be a string of printable ASCII characters without blanks inside',
    {
      option: 'authToken',
      value: typeof value === 'string' ? '(not shown)' : value,
    },
  );
}

function secureOf(address: ServerAddress, transport: Transport, authToken: string | undefined): Target {
  const tls = transport === 'tls' || (transport === 'auto' && address.secure);
  if (!tls && authToken !== undefined && transport !== 'insecure' && !isLoopback(address.host)) {
    throw new InvalidOptionError(
      `authToken would travel in clear text to ${quote(address.text)}: use klocks://, or transport 'insecure' if that is meant`,
      { option: 'authToken', value: '(not shown)' },
    );
  }
  return { ...address, tls };
}

function checkCa(value: unknown): string | Buffer | undefined {
  if (value === undefined) return undefined;
  // What holds no certificate would be taken for an empty list: every connection would fail, with no word of why.
  if ((typeof value === 'string' || Buffer.isBuffer(value)) && value.includes('-----BEGIN ')) return value;
  // Not quoted: it may be a private key.
  throw new InvalidOptionError('ca must be certificates in PEM form, as a string or Buffer', {
    option: 'ca',
    value: typeof value === 'object' ? value && 'an object' : typeof value,
  });
}

function optionalDuration(option: string, value: unknown): number | undefined {
  return value === undefined ? undefined : checkDuration(option, value);
}

/** Faster pings are answered with GOAWAY by our server and others (case B-028). */
function checkKeepalive(value: unknown): number {
  if (value === undefined) return MIN_PING_INTERVAL_MS;
  const keepaliveMs = checkDuration('keepaliveMs', value);
  if (keepaliveMs >= MIN_PING_INTERVAL_MS) return keepaliveMs;
  throw optionError('keepaliveMs', `at least ${MIN_PING_INTERVAL_MS}`, value);
}
