import type { LossReason, ServerChange } from '../core/index.js';

/** Counts the sessions of one slot; every call carries the number it was sent under (WK-20). */
export type Generation = number;

/** The one session a slot of the ladder has at a time. Generations only grow. */
export type SessionState =
  | { readonly phase: 'none'; readonly generation: Generation }
  | { readonly phase: 'creating'; readonly generation: Generation }
  | {
      readonly phase: 'active';
      readonly generation: Generation;
      readonly sessionId: string;
      readonly serverId: string;
    }
  /** The client is closed: no session any more. */
  | { readonly phase: 'closed'; readonly generation: Generation };

/** Why a session is over, in the words of the loss it means for its grants. */
export interface SessionEnd extends ServerChange {
  readonly reason: LossReason;
  /** Spec table 4.6. */
  readonly code: string;
  /** Whether the server may still keep the session and must be told to end it. */
  readonly tellServer: boolean;
}

export type SessionInput =
  /** Someone needs a session. */
  | { readonly type: 'wanted' }
  | {
      readonly type: 'created';
      readonly generation: Generation;
      readonly sessionId: string;
      readonly serverId: string;
    }
  | { readonly type: 'not-created'; readonly generation: Generation }
  /** An answer named its server. */
  | { readonly type: 'server-seen'; readonly generation: Generation; readonly serverId: string }
  | { readonly type: 'over'; readonly generation: Generation; readonly end: SessionEnd }
  /** Nothing has rested on it for a while. */
  | { readonly type: 'idle'; readonly generation: Generation }
  | { readonly type: 'close' };

export type SessionEffect =
  | { readonly do: 'create'; readonly generation: Generation }
  /** The new session is the current one: put its lease under care, watch it, let those who wait go on. */
  | { readonly do: 'adopt'; readonly generation: Generation }
  /** Those who waited for the creation find out that there is no session. */
  | { readonly do: 'wake'; readonly generation: Generation }
  /** The current session is over: end its lease, its watch, and what else runs for it. */
  | { readonly do: 'end'; readonly generation: Generation; readonly end: SessionEnd }
  /** The current session is given up without anyone losing anything. */
  | { readonly do: 'retire'; readonly generation: Generation }
  | { readonly do: 'close-remote'; readonly sessionId: string };

export interface SessionTransition {
  readonly state: SessionState;
  readonly effects: readonly SessionEffect[];
}

export const NO_SESSION: SessionState = { phase: 'none', generation: 0 };

/** The end a client's own close means for its session. */
export const CLOSED_BY_CLIENT: SessionEnd = { reason: 'closed', code: 'CLIENT_CLOSE', tellServer: true };

/** One step of a slot's session. What belongs to an older generation changes nothing. */
export function stepSession(state: SessionState, input: SessionInput): SessionTransition {
  switch (input.type) {
    case 'wanted':
      return wanted(state);
    case 'created':
      return created(state, input);
    case 'not-created':
      if (state.phase !== 'creating' || state.generation !== input.generation) return stay(state);
      return to(
        { phase: 'none', generation: state.generation },
        { do: 'wake', generation: state.generation },
      );
    case 'server-seen':
      return serverSeen(state, input.generation, input.serverId);
    case 'over':
      return isCurrent(state, input.generation) ? over(state, input.end) : stay(state);
    case 'idle':
      return isCurrent(state, input.generation) ? retire(state) : stay(state);
    case 'close':
      return close(state);
  }
}

type Active = Extract<SessionState, { phase: 'active' }>;

function wanted(state: SessionState): SessionTransition {
  if (state.phase !== 'none') return stay(state);
  const generation = state.generation + 1;
  return to({ phase: 'creating', generation }, { do: 'create', generation });
}

function created(state: SessionState, input: Extract<SessionInput, { type: 'created' }>): SessionTransition {
  const { generation, sessionId, serverId } = input;
  if (state.phase !== 'creating' || state.generation !== generation) {
    // Closed meanwhile: nobody will ever use it (K-199).
    return to(state, { do: 'close-remote', sessionId });
  }
  return to({ phase: 'active', generation, sessionId, serverId }, { do: 'adopt', generation });
}

function serverSeen(state: SessionState, generation: Generation, serverId: string): SessionTransition {
  if (!isCurrent(state, generation) || serverId === '' || serverId === state.serverId) return stay(state);
  return over(state, {
    reason: 'server-changed',
    code: 'SERVER_INSTANCE_MISMATCH',
    oldServer: state.serverId,
    newServer: serverId,
    // The old process is gone or unreachable under this address.
    tellServer: false,
  });
}

function over(state: Active, end: SessionEnd): SessionTransition {
  const { generation, sessionId } = state;
  const ended: SessionEffect = { do: 'end', generation, end };
  const effects: SessionEffect[] = end.tellServer ? [ended, { do: 'close-remote', sessionId }] : [ended];
  return to({ phase: 'none', generation }, ...effects);
}

function retire({ generation, sessionId }: Active): SessionTransition {
  return to({ phase: 'none', generation }, { do: 'retire', generation }, { do: 'close-remote', sessionId });
}

function close(state: SessionState): SessionTransition {
  const { generation } = state;
  if (state.phase === 'closed') return stay(state);
  const closed: SessionState = { phase: 'closed', generation };
  if (state.phase === 'creating') return to(closed, { do: 'wake', generation });
  if (state.phase === 'active') return { state: closed, effects: over(state, CLOSED_BY_CLIENT).effects };
  return to(closed);
}

function isCurrent(state: SessionState, generation: Generation): state is Active {
  return state.phase === 'active' && state.generation === generation;
}

function stay(state: SessionState): SessionTransition {
  return { state, effects: [] };
}

function to(state: SessionState, ...effects: SessionEffect[]): SessionTransition {
  return { state, effects };
}
