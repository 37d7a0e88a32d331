import { endByRefusal, endByWatch, UNCERTAIN_END } from './session-end.js';
import {
  NO_SESSION,
  stepSession,
  type SessionEffect,
  type SessionInput,
  type SessionState,
} from './session-state.js';

function play(...inputs: SessionInput[]): { state: SessionState; effects: SessionEffect[] } {
  let state = NO_SESSION;
  const effects: SessionEffect[] = [];
  for (const input of inputs) {
    const step = stepSession(state, input);
    state = step.state;
    effects.push(...step.effects);
  }
  return { state, effects };
}

const wanted: SessionInput = { type: 'wanted' };
const created = (generation: number, sessionId = `s${generation}`, serverId = 'srv_a'): SessionInput => ({
  type: 'created',
  generation,
  sessionId,
  serverId,
});

describe('stepSession', () => {
  it('[K-142] creates once however many want a session', () => {
    const { state, effects } = play(wanted, wanted, wanted, created(1), wanted);
    expect(effects).toEqual([
      { do: 'create', generation: 1 },
      { do: 'adopt', generation: 1 },
    ]);
    expect(state).toEqual({ phase: 'active', generation: 1, sessionId: 's1', serverId: 'srv_a' });
  });

  it('[K-143] wakes those who wait when the creation failed, and creates anew for the next', () => {
    const { effects } = play(wanted, { type: 'not-created', generation: 1 }, wanted);
    expect(effects.map((effect) => effect.do)).toEqual(['create', 'wake', 'create']);
  });

  it('[K-182] [K-198] ignores whatever an older generation says', () => {
    const end = UNCERTAIN_END;
    const alive = play(wanted, created(1), { type: 'over', generation: 1, end }, wanted, created(2));
    const late: SessionInput[] = [
      { type: 'over', generation: 1, end },
      { type: 'server-seen', generation: 1, serverId: 'srv_old' },
      { type: 'not-created', generation: 1 },
      { type: 'idle', generation: 1 },
    ];
    for (const input of late)
      expect(stepSession(alive.state, input)).toEqual({ state: alive.state, effects: [] });
  });

  it('[K-181] ends the session when another server answers, naming both', () => {
    const { state, effects } = play(wanted, created(1), {
      type: 'server-seen',
      generation: 1,
      serverId: 'srv_b',
    });
    expect(effects.at(-1)).toMatchObject({
      do: 'end',
      end: {
        reason: 'server-changed',
        code: 'SERVER_INSTANCE_MISMATCH',
        oldServer: 'srv_a',
        newServer: 'srv_b',
      },
    });
    expect(state).toEqual({ phase: 'none', generation: 1 });
  });

  it('takes no notice of its own server, or of a reply that names none', () => {
    const { state } = play(wanted, created(1));
    for (const serverId of ['srv_a', '']) {
      expect(stepSession(state, { type: 'server-seen', generation: 1, serverId }).effects).toEqual([]);
    }
  });

  it('[K-164] closes once on the server however many uncertain waits end the session', () => {
    const over: SessionInput = { type: 'over', generation: 1, end: UNCERTAIN_END };
    const { effects } = play(wanted, created(1), over, over, over);
    expect(effects.filter((effect) => effect.do === 'close-remote')).toHaveLength(1);
  });

  it('[K-199] closes on the server a session that arrives after the close, once, and adopts it not', () => {
    const { state, effects } = play(wanted, { type: 'close' }, created(1));
    expect(effects.map((effect) => effect.do)).toEqual(['create', 'wake', 'close-remote']);
    expect(state.phase).toBe('closed');
  });

  it('[K-196] ends the session as CLIENT_CLOSE before it tells the server', () => {
    const { effects } = play(wanted, created(1), { type: 'close' }, { type: 'close' });
    expect(effects.slice(2)).toEqual([
      { do: 'end', generation: 1, end: { reason: 'closed', code: 'CLIENT_CLOSE', tellServer: true } },
      { do: 'close-remote', sessionId: 's1' },
    ]);
  });

  it('retires an idle session without a loss', () => {
    const { effects } = play(wanted, created(1), { type: 'idle', generation: 1 });
    expect(effects.slice(2).map((effect) => effect.do)).toEqual(['retire', 'close-remote']);
  });

  it('creates nothing after the close', () => {
    expect(play({ type: 'close' }, wanted).effects).toEqual([]);
  });
});

describe('what an answer means for the session', () => {
  const refusal = (code: string) => ({ code, status: 404, message: '', serverId: 'srv_b' });

  it('[K-175] is the end with its own code for SESSION_GONE and SESSION_NOT_FOUND', () => {
    for (const code of ['SESSION_GONE', 'SESSION_NOT_FOUND']) {
      expect(endByRefusal('session-over', refusal(code), 'srv_a')).toEqual({
        reason: 'session-gone',
        code,
        tellServer: false,
      });
    }
  });

  it('[K-180] is the end, on the server too, for another protocol', () => {
    expect(endByRefusal('other-protocol', refusal('PROTOCOL_MISMATCH'), 'srv_a')).toEqual({
      reason: 'protocol-mismatch',
      code: 'PROTOCOL_MISMATCH',
      tellServer: true,
    });
  });

  it('[K-161] is nothing for every other refusal', () => {
    for (const verdict of ['busy', 'conflict', 'passing', 'final', 'unresolved', 'not-held'] as const) {
      expect(endByRefusal(verdict, refusal('X'), 'srv_a')).toBeUndefined();
    }
  });

  it('[K-176] is the end with the code of the watch; a draining server is told that we are done', () => {
    expect(endByWatch('SESSION_GONE', 'lease_expired')).toMatchObject({
      code: 'SESSION_GONE',
      tellServer: false,
    });
    expect(endByWatch('SESSION_GONE', 'ended: server_restarting')).toMatchObject({ tellServer: true });
    expect(endByWatch('SERVER_DRAINING', '')).toMatchObject({ code: 'SERVER_DRAINING', tellServer: true });
    expect(endByWatch('', '').code).toBe('SESSION_GONE');
  });
});
