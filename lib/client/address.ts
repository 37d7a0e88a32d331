import { InvalidOptionError, quote } from '../core/index.js';

/** Where a lock server listens unless told otherwise. */
export const DEFAULT_PORT = 8_080;

/** One address of a lock server. */
export interface ServerAddress {
  /** Name or address, brackets of IPv6 taken off. */
  readonly host: string;
  readonly port: number;
  /** Whether the scheme asks for TLS. */
  readonly secure: boolean;
  /** `host:port` as people read it. */
  readonly text: string;
}

/** Schemes, and whether they mean TLS. */
const SCHEMES: Readonly<Record<string, boolean>> = {
  'klock:': false,
  'grpc:': false,
  'klocks:': true,
  'grpcs:': true,
};

const AUTHORITY =
  /^(?:\[(?<v6>[0-9a-fA-F:.]+)\]|(?<name>[^\s\p{C}/?#@:[\]]{1,253}))(?::(?<port>\d{1,5}))?\/?$/u;

/**
 * Reads `klock://host:port`, `klocks://…`, `grpc://…`, `grpcs://…` or `host:port`; letter case of the scheme and blanks
 * around do not matter. Without a scheme plain text, without a port 8080.
 * @throws InvalidOptionError naming the option and the value.
 */
export function parseAddress(option: string, value: unknown): ServerAddress {
  if (typeof value !== 'string') throw refuse(option, value, 'must be a string such as klock://lock-1:8080');
  const text = value.trim();
  if (text === '') throw refuse(option, value, 'must not be empty');
  const { secure, rest } = splitScheme(option, value, text);
  if (rest === '') throw refuse(option, value, 'names no host after its scheme');
  const parts = AUTHORITY.exec(rest)?.groups;
  const host = parts?.['v6'] ?? parts?.['name'];
  const port = parts?.['port'] === undefined ? DEFAULT_PORT : Number(parts['port']);
  if (host === undefined || port < 1 || port > 65_535) {
    throw refuse(option, value, 'must be host:port after its scheme, without path, user or query');
  }
  return { host, port, secure, text: `${host.includes(':') ? `[${host}]` : host}:${port}` };
}

function splitScheme(option: string, value: string, text: string): { secure: boolean; rest: string } {
  const scheme = /^([a-z][a-z0-9+.-]*:)\/\//i.exec(text);
  if (scheme === null) return { secure: false, rest: text };
  const name = (scheme[1] as string).toLowerCase();
  const secure = Object.hasOwn(SCHEMES, name) ? SCHEMES[name] : undefined;
  if (secure === undefined) {
    throw refuse(option, value, 'must start with klock://, klocks://, grpc:// or grpcs://');
  }
  return { secure, rest: text.slice(scheme[0].length) };
}

function refuse(option: string, value: unknown, problem: string): InvalidOptionError {
  // A user part may hold a password, which must reach no log.
  const shown =
    typeof value === 'string' ? value.replace(/^(\s*[a-z][a-z0-9+.-]*:\/\/)?.*@/is, '$1***@') : value;
  return new InvalidOptionError(`${option} ${problem}, got ${quote(shown)}`, { option, value: shown });
}

/** Whether the address can only be this machine. */
export function isLoopback(host: string): boolean {
  return (
    host.toLowerCase() === 'localhost' ||
    host === '::1' ||
    /^127(\.\d{1,3}){3}$/.test(host) ||
    /^::ffff:127\./i.test(host)
  );
}
