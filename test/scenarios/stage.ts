import { parseKey, type LockKey } from '../../lib/core/index.js';
import { Engine, render, type Effect, type EngineCommand, type Outcome } from '../../lib/engine/index.js';

type Words = Readonly<Record<string, string>>;

/** Plays the commands of one scenario on an engine of its own. */
export class Stage {
  private engine: Engine | undefined;
  private nowMs = 0;
  private callId = 0;

  /** Carries out the lines of a paragraph. Returns what was answered and announced, then the whole state. */
  play(lines: readonly string[]): string {
    const told = lines.flatMap((line) => this.perform(line));
    return [...told, render(this.running())].join('\n');
  }

  private running(words: Words = {}): Engine {
    this.engine ??= new Engine({
      lastFence: BigInt(words.last ?? 0),
      reservedFence: BigInt(words.reserved ?? 1_000_000),
      fenceBlock: BigInt(words.block ?? 1_000),
      mintToken: (grant) => `tok-${grant.fence}`,
      ...optionalCounts(words),
    });
    return this.engine;
  }

  private perform(line: string): string[] {
    const [verb = '', ...rest] = line.split(/\s+/);
    const words = namedWords(rest);
    const names = rest.filter((word) => !word.includes('='));
    switch (verb) {
      case 'engine':
        this.running(words);
        return [];
      case 'advance':
        return this.advance(Number(names[0]));
      case 'late':
        this.nowMs += Number(names[0]);
        return [];
      default:
        return this.tell(this.command(verb, names, words), names);
    }
  }

  private advance(ms: number): string[] {
    const endMs = this.nowMs + ms;
    const told: string[] = [];
    for (let at = this.running().wakeAtMs; at <= endMs; at = this.running().wakeAtMs) {
      this.nowMs = Math.max(at, this.nowMs);
      told.push(...this.tell({ type: 'wake' }, []));
    }
    this.nowMs = endMs;
    return [...told, ...this.tell({ type: 'wake' }, [])];
  }

  private tell(command: EngineCommand, names: readonly string[]): string[] {
    const outcome = this.running().apply(command, this.nowMs);
    const at = this.nowMs;
    return [
      ...outcome.effects.map((effect) => `  at ${at}: ${describeEffect(effect)}`),
      ...describeAnswer(command, names, outcome),
    ];
  }

  private command(verb: string, names: readonly string[], words: Words): EngineCommand {
    const [first = '', second = '', third = ''] = names;
    switch (verb) {
      case 'open':
        return {
          type: 'open-session',
          sessionId: first,
          leaseMs: Number(words.lease),
          ...optional('client', words.client),
        };
      case 'renew':
        return { type: 'renew-session', sessionId: first };
      case 'close':
        return {
          type: 'close-session',
          sessionId: first,
          reason: (words.reason ?? 'client_close') as 'client_close',
        };
      case 'acquire':
        return this.acquire(first, second, toKey(third), words);
      case 'detach':
        return { type: 'detach-call', callId: Number(first), ...optionalNumber('keepMs', words.keep) };
      case 'cancel':
        return { type: 'cancel-request', sessionId: first, requestId: second };
      case 'release':
        return {
          type: 'release',
          sessionId: first,
          token: second,
          releaseId: words.id ?? `rel-${second}`,
          ...optionalNumber('keepMs', words.keep),
        };
      case 'revoke':
        return {
          type: 'revoke',
          key: toKey(first),
          below: words.below === 'yes',
          ...(words.fence === undefined ? {} : { fence: BigInt(words.fence) }),
        };
      case 'drain':
        return { type: 'drain' };
      case 'reserve':
        return { type: 'fences-reserved', upTo: BigInt(first) };
      case 'hold':
        return {
          type: 'hold-grants',
          untilMs: toTime(words.until ?? '0'),
          ...optionalNumber('onlyUntilMs', words['only-until']),
        };
      case 'wake':
        return { type: 'wake' };
      default:
        throw new RangeError(`no such command: ${verb}`);
    }
  }

  private acquire(sessionId: string, requestId: string, key: LockKey, words: Words): EngineCommand {
    const wait = toTime(words.wait ?? '0');
    return {
      type: 'acquire',
      callId: ++this.callId,
      sessionId,
      requestId,
      key,
      waitUntilMs: this.nowMs + wait,
      ...optionalNumber('keepPlaceMs', words['keep-place']),
    };
  }
}

function describeAnswer(command: EngineCommand, names: readonly string[], { answer }: Outcome): string[] {
  if (answer === undefined) return [];
  const who =
    command.type === 'acquire'
      ? `call ${Number(command.callId)} ${names[0]}/${names[1]}`
      : names.slice(0, 2).join(' ');
  switch (answer.type) {
    case 'session':
      return [`${who}: lease ${answer.leaseMs} until ${answer.expiresAtMs}`];
    default:
      return [`${who}: ${describeReply(answer)}`];
  }
}

type Reply = Exclude<NonNullable<Outcome['answer']>, { type: 'session' }>;

function describeReply(answer: Reply): string {
  if (answer.type === 'granted') return `granted fence ${answer.grant.fence} token ${answer.grant.token}`;
  if (answer.type === 'revoked') return describeEnded(answer);
  if (answer.type !== 'refused') return answer.type;
  const { why, ...facts } = answer.refusal;
  return ['refused', why, ...Object.values<string | number>(facts)].join(' ');
}

function describeEnded({ ended, endedCount }: Extract<Reply, { type: 'revoked' }>): string {
  const held = ended.map(({ key, session, fence }) => `${key.join('/')} of ${session} fence ${fence}`);
  return `revoked ${endedCount}${held.length === 0 ? '' : `: ${held.join(', ')}`}`;
}

function describeEffect(effect: Effect): string {
  switch (effect.type) {
    case 'call-answered':
      return `call ${Number(effect.callId)} ${describeReply(effect.answer)}`;
    case 'session-ended':
      return `session ${effect.sessionId} ended: ${effect.reason}`;
    case 'grant-revoked':
      return `session ${effect.grant.sessionId} told that fence ${effect.grant.fence} was revoked`;
    case 'reserve-fences':
      return `reserve fences up to ${effect.upTo}`;
  }
}

function namedWords(words: readonly string[]): Words {
  const pairs = words.filter((word) => word.includes('=')).map((word) => word.split('='));
  return Object.fromEntries(pairs.map(([name = '', value = '']) => [name, value]));
}

function toKey(text: string): LockKey {
  const [l1 = '', l2] = text.split('/');
  return parseKey(l2 === undefined ? [l1] : [l1, l2]);
}

function toTime(text: string): number {
  return text === 'forever' ? Infinity : Number(text);
}

function optional(name: string, value: string | undefined): Record<string, string> {
  return value === undefined ? {} : { [name]: value };
}

function optionalNumber(name: string, value: string | undefined): Record<string, number> {
  return value === undefined ? {} : { [name]: Number(value) };
}

function optionalCounts(words: Words): Record<string, number> {
  return {
    ...optionalNumber('maxWaiters', words.waiters),
    ...optionalNumber('maxWaitersPerKey', words['waiters-per-key']),
    ...optionalNumber('maxSessions', words.sessions),
    ...optionalNumber('maxLocksPerSession', words.locks),
    ...optionalNumber('maxKeptKeys', words['kept-keys']),
    ...optionalNumber('rememberedRequests', words.remember),
    ...optionalNumber('rememberMs', words['remember-ms']),
    ...optionalNumber('rememberedSessions', words['remember-sessions']),
  };
}
