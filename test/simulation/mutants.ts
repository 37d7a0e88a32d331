import { channelMutants } from './channel-mutants.js';
import { clientMutants } from './client-mutants.js';
import type { Mutant } from './mutant.js';
import { storeMutants } from './store-mutants.js';

export { withMutant, type Mutant } from './mutant.js';

/** Every defect that must be found. */
export const mutants: readonly Mutant[] = [...clientMutants, ...storeMutants, ...channelMutants];
