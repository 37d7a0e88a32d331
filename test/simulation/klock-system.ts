import { klockDriver } from '../../lib/drivers/klock/index.js';
import type { Clock, LockDriver, LockKey } from '../../lib/core/index.js';
import { isLockError } from '../../lib/core/index.js';
import type { EngineStats } from '../../lib/engine/index.js';
import { Connection } from '../../lib/client/connection.js';
import type { Target } from '../../lib/client/client-options.js';
import type { Link } from '../../lib/client/link.js';
import { memoryFenceStore } from '../../lib/fencing/index.js';
import { RestartGuard } from '../../lib/server/restart-guard.js';
import { StateDirectory, type StateDirectoryOptions } from '../../lib/server/state/state-directory.js';
import type {
  ClientPlan,
  SimNode,
  SimResource,
  SimSystem,
  Stage,
} from '../../lib/testing/simulation/index.js';
import { ServerLife } from './server-life.js';
import { SimDisk } from './sim-disk.js';
import { SimLink, type CallReplies, type ServerCall, type SimWire, type WireServer } from './sim-wire.js';

/** Makes the connections of the client process that this clock belongs to. */
const dialers = new WeakMap<Clock, (id: number, target: Target, connection: Connection) => SimLink>();
const disks = new Map<string, SimDisk>();
const CONNECT_TIMEOUT_MS = 2_000;
const STORE = 'klock:sim:1';
let systems = 0;

/** What the patched method reads of a connection. */
interface OpenConnection {
  readonly closed: boolean;
  link: unknown;
  readonly pause: unknown;
  readonly settings: { readonly targets: readonly [Target] };
  readonly clock: Clock;
  linksMade: number;
}

/** Puts the simulated network under the shipped client, and the simulated disk under the shipped server. */
function takeOver(): void {
  (Connection.prototype as unknown as { connect(): void }).connect = function (this: OpenConnection): void {
    if (this.closed || this.link !== undefined || this.pause !== undefined) return;
    const dial = dialers.get(this.clock);
    this.link = dial?.(++this.linksMade, this.settings.targets[0], this as unknown as Connection);
  };
  StateDirectory.open = (options: StateDirectoryOptions) =>
    Promise.resolve((disks.get(options.directory) as SimDisk).open(options));
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called on its own object below
  const fences = RestartGuard.prototype.fences;
  RestartGuard.prototype.fences = function () {
    const { fenceBlock: _, ...rest } = fences.call(this);
    const { reservedFence, lastFence } = rest;
    return { ...rest, fenceBlock: reservedFence - lastFence };
  };
}

takeOver();

/** The shipped lock server and klock driver, whole but for sockets, files and time. */
export class KlockSystem implements SimSystem, WireServer {
  private life: ServerLife | undefined;
  private readonly directory = `sim-${++systems}`;
  private readonly wires = new Set<SimWire>();
  private readonly slowUntil = new Map<SimNode, number>();

  constructor(private readonly stage: Stage) {
    const { fenceBlock, diskMs } = stage.plan.store;
    disks.set(this.directory, new SimDisk(fenceBlock, diskMs));
  }

  get node(): SimNode {
    return this.stage.server;
  }

  startServer(): void {
    const { plan, server, random, witness } = this.stage;
    const { maxWaiters, maxLocksPerSession, rememberedRequests, sixCalls } = plan.store;
    const { life } = server;
    const options = {
      clock: server.clock,
      random,
      stateDir: this.directory,
      sixCalls,
      maxWaiters,
      maxLocksPerSession,
      maxLeaseMs: plan.ttlMs,
      defaultLeaseMs: plan.ttlMs,
      idempotencyEntries: rememberedRequests,
    };
    const mine: typeof witness = (command, outcome, nowMs) => {
      if (server.alive && server.life === life) witness(command, outcome, nowMs);
    };
    void ServerLife.start(options, mine, () => this.isSlow(server)).then((started) => {
      if (server.alive && server.life === life) this.life = started;
    });
  }

  serverKilled(quiet: boolean): void {
    this.life = undefined;
    for (const wire of this.wires) {
      wire.forget();
      if (!quiet) wire.toClient(() => wire.link.end(new Error('the connection was reset')));
    }
    this.wires.clear();
  }

  async drainServer(limitMs: number): Promise<void> {
    await this.life?.drain(limitMs);
  }

  makeDriver(node: SimNode, plan: ClientPlan): LockDriver {
    dialers.set(node.clock, (id, target, connection) => {
      const { clock } = node;
      return new SimLink(
        id,
        target,
        CONNECT_TIMEOUT_MS,
        clock,
        connection,
        node,
        this,
        this.stage.network,
        this.wires,
      );
    });
    return klockDriver({
      url: 'klock://sim:1',
      idleSessionMs: plan.idleSessionMs,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
    });
  }

  reset(node: SimNode, quiet: boolean): void {
    for (const wire of [...this.wires]) {
      if (wire.clientNode !== node) continue;
      this.wires.delete(wire);
      if (quiet) wire.lose();
      else {
        this.stage.network.send(node, this.node, wire.up, () => wire.closeAtServer());
        wire.toClient(() => wire.link.end(new Error('the connection was reset')));
      }
    }
  }

  slow(node: SimNode, untilMs: number): void {
    this.slowUntil.set(node, untilMs);
  }

  note(line: () => string): void {
    this.stage.note(line);
  }

  isSlow(node: SimNode): boolean {
    return (this.slowUntil.get(node) ?? 0) > this.stage.timeline.nowMs;
  }

  begin(path: string, wire: SimWire, replies: CallReplies): ServerCall {
    if (this.life !== undefined) return this.life.begin(path, wire, replies);
    // It listens before it serves: nobody is answered yet.
    replies.end({ code: 14, details: 'the server has not started' });
    return { message: () => undefined, closed: () => undefined };
  }

  makeResource(): SimResource {
    const store = memoryFenceStore();
    return {
      accept: (key: LockKey, fence: bigint) =>
        store.accept({ key, fence, store: STORE }).then(
          () => true,
          (error: unknown) => {
            if (isLockError(error, 'STALE_FENCE')) return false;
            throw error;
          },
        ),
    };
  }

  stats(): EngineStats | undefined {
    return this.life?.parts.host.stats();
  }
}

export const klockSystem = (stage: Stage): SimSystem => new KlockSystem(stage);
export type { Link };
