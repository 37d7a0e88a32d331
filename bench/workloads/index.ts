import { burst } from './burst.js';
import { distinct } from './distinct.js';
import { hot } from './hot.js';
import { inProcess } from './in-process.js';
import { memory } from './memory.js';
import { mix } from './mix.js';
import { serverCpu } from './server-cpu.js';
import { sessions } from './sessions.js';
import { sustained } from './sustained.js';
import { waiters } from './waiters.js';
import type { Workload } from './workload.js';

export type { Wanted, Workload } from './workload.js';

/** Those with ratios first: a quick run on a busy machine may not come to the end of the list. */
export const WORKLOADS: readonly Workload[] = [
  inProcess,
  distinct,
  burst,
  sustained,
  serverCpu,
  memory,
  hot,
  mix,
  waiters,
  sessions,
];
