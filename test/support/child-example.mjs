// What test/support/child.spec.ts starts.
import * as klock from 'klock/core';
import { emit, serve } from './child-side.mjs';

let ticks = 0;
setInterval(() => emit('tick', (ticks += 1)), 10);

serve({
  add: (a, b) => a + b,
  big: () => 2n ** 60n,
  loaded: () => typeof klock,
  fail: () => {
    throw Object.assign(new Error('told to'), { code: 'TOLD' });
  },
  never: () => new Promise(() => undefined),
});
