import type { Grant } from '../engine/index.js';
import type { Random } from '../core/index.js';

/** A name of one server process: new at every start. */
export function newServerId(random: Random): string {
  return `srv_${random.id().slice(0, 16)}`;
}

/** 128 unpredictable bits, since whoever knows the id of a session can end it. */
export function newSessionId(random: Random): string {
  return `sess_${random.id()}`;
}

/** Makes the token of a grant; takes the grant since tokens derived from it are to survive restarts one day. */
export function tokenMint(random: Random): (grant: Omit<Grant, 'token'>) => string {
  return () => `lk_${random.id()}`;
}
