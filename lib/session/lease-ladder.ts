export { LADDER_RUNGS, leaseLadder, rungFor } from '../core/index.js';
