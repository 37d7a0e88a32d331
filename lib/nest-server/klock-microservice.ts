import type { CustomStrategy, CustomTransportStrategy } from '@nestjs/microservices';
import { LockServer, type ServerOptions } from '../server/index.js';

type Callback = (error?: unknown, info?: unknown) => void;

/**
 * The lock server as a Nest microservice. Nest starts it with `listen()` and stops it with `close()`; nothing else of Nest
 * stands between a client and the server, so no guard, pipe, filter or interceptor can change what a client is told.
 */
export class KlockMicroservice implements CustomTransportStrategy, CustomStrategy {
  /** Itself: what `createMicroservice` and `connectMicroservice` look for. */
  readonly strategy: CustomTransportStrategy = this;
  /** Handlers of other transports are not offered to it. */
  readonly transportId = Symbol.for('klock');
  readonly server: LockServer;

  constructor(options: ServerOptions) {
    this.server = new LockServer(options);
  }

  /** `host:port` as bound. @throws BackendStateError before `listen`. */
  get address(): string {
    return this.server.address;
  }

  listen(callback: Callback): void {
    this.server.start().then(
      () => callback(undefined, this.server.address),
      (error: unknown) => callback(error),
    );
  }

  /** Drains and stops, in bounded time: clients are told, holders may finish, streams are ended. Repeatable. */
  async close(): Promise<void> {
    await this.server.close();
  }

  /** Message handlers of the application have nothing to listen to here. */
  addHandler(): void {}

  /** For `app.unwrap()`: the lock server itself. */
  unwrap<T>(): T {
    return this.server as T;
  }

  on(): never {
    throw new Error('the klock server has no events to listen to; see LockServer.ended');
  }
}

/**
 * The bundled lock server for `NestFactory.createMicroservice(Module, klockMicroservice(options))` and
 * `app.connectMicroservice(klockMicroservice(options))`.
 * @throws InvalidOptionError listing everything that is wrong with the options.
 */
export function klockMicroservice(options: ServerOptions = {}): KlockMicroservice {
  return new KlockMicroservice(options);
}
