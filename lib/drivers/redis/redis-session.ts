import type { DriverHost, LinkedList, SlotMap } from '../../core/index.js';
import type { Acquaintance } from './acquaintance.js';
import type { AcquireCall } from './acquire-call.js';
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
  /** Acquires without an answer. */
  readonly unsettled: LinkedList<AcquireCall>;
  /** Live grants by the id of their lease. */
  readonly grants: SlotMap<RedisGrant>;
}
