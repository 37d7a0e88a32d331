import type { DriverHost } from '../../core/index.js';
import type { Abortable, AbortWatch } from './abort-watch.js';
import type { Acquaintance } from './acquaintance.js';
import type { Background } from './background.js';
import type { RedisGrant } from './redis-grant.js';
import type { ResolvedRedisOptions } from './redis-options.js';
import type { ScriptCalls } from './script-calls.js';
import type { WaitingRoom } from './waiting-room.js';

/** The parts of one attached driver, as its calls share them. */
export interface RedisSession {
  readonly host: DriverHost;
  readonly options: ResolvedRedisOptions;
  readonly calls: ScriptCalls;
  readonly acquaintance: Acquaintance;
  readonly waiting: WaitingRoom;
  readonly background: Background;
  readonly aborts: AbortWatch;
  /** Acquires without an answer. */
  readonly unsettled: Set<Abortable>;
  /** Live grants by the id of their lease. */
  readonly grants: Map<string, RedisGrant>;
}
