import { isIPv4, isIPv6 } from 'node:net';

/** Where to listen; without host on all interfaces. */
export interface BindAddress {
  readonly host: string | undefined;
  readonly port: number;
}

const PARTS = /^(?:\[(?<v6>[^\]]+)\]|(?<name>[^:[\]]*)):(?<port>\d{1,5})$/;

/** Reads `host:port`, `[ipv6]:port` or `:port`; undefined for anything else. */
export function parseBindAddress(text: string): BindAddress | undefined {
  const parts = PARTS.exec(text.trim())?.groups;
  if (parts === undefined) return undefined;
  const port = Number(parts.port);
  if (port > 65_535 || (parts.v6 !== undefined && !isIPv6(parts.v6))) return undefined;
  const host = parts.v6 ?? parts.name;
  return { host: host === '' ? undefined : host, port };
}

/** Whether only this machine can reach the host. A name other than `localhost` may resolve to anything and counts as public. */
export function isLoopback(host: string | undefined): boolean {
  if (host === undefined) return false;
  if (isIPv4(host)) return host.startsWith('127.');
  return host.toLowerCase() === 'localhost' || host === '::1' || host === '0:0:0:0:0:0:0:1';
}

/** `host:port` as a client would write it; IPv6 in brackets. */
export function formatAddress(host: string, port: number): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}
