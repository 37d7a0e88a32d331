import { createKlock, type Klock, type LockDriver } from '../core/index.js';
import { driverFor, type ServerPlace } from './server-flags.js';

/** A statement of the demonstration that was not true. */
export class NotShown extends Error {
  override readonly name = 'NotShown';
}

/** @throws NotShown */
export function show(condition: boolean, otherwise: string): void {
  if (!condition) throw new NotShown(otherwise);
}

/** Clients for one demonstration, closed together. */
export class DemoStage {
  private readonly clients: Klock[] = [];

  constructor(readonly place: ServerPlace) {}

  /** A client with a session of its own. @param token in place of the one the demonstration was given. */
  client(name: string, token?: string): Klock {
    return this.over(name, this.driver(token));
  }

  /** @throws InvalidOptionError for an address that is none. */
  driver(token = this.place.token): LockDriver {
    return driverFor({ ...this.place, token });
  }

  over(name: string, driver: LockDriver): Klock {
    const client = createKlock({ driver, clientName: `demo-${name}` });
    this.clients.push(client);
    return client;
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.close({ graceMs: 1 })));
  }
}
