import { klockDriver, type KlockDriverOptions } from '../drivers/klock/index.js';
import type { LockDriver } from '../core/index.js';
import { choice, text } from './flags.js';

/** Where the server is: the flags of every command. */
export const SERVER_FLAGS = {
  addr: text('grpc://127.0.0.1:8080', 'address of the server; klock:// and klocks:// (TLS) too'),
  token: text('', 'token the server asks for'),
  insecure: choice(false, 'send the token in clear text to another machine'),
};

export interface ServerPlace {
  readonly addr: string;
  readonly token: string;
  readonly insecure: boolean;
}

/** @throws InvalidOptionError for an address that is none. */
export function driverFor({ addr, token, insecure }: ServerPlace): LockDriver {
  const options: KlockDriverOptions = {
    url: addr,
    ...(token !== '' && { authToken: token }),
    ...(insecure && { transport: 'insecure' }),
  };
  return klockDriver(options);
}
