import { ChannelClientEnd, type Asker, type ClientParts, type SentOperation } from './channel-client-end.js';
import { ChannelServerEnd } from './channel-server-end.js';
import type { Page } from './reconciliation-pages.js';
import { NumberMap } from '../core/index.js';

interface Operation extends SentOperation {
  readonly ask: 'acquire' | 'cancel' | 'release';
}
interface Answer {
  readonly operation: number;
  readonly fence: bigint;
  readonly said: string;
}
interface Down {
  readonly received: number;
  readonly pages: readonly Page[];
  readonly firstMessage: number;
  readonly answers: readonly Answer[];
}

/** Both ends and a lock table of one line: an acquire is granted when `grant` says so. */
class Pair {
  readonly events: string[] = [];
  readonly answers = new Map<number, string[]>();
  readonly seen: number[] = [];
  readonly waiting = new NumberMap<object>();
  readonly client: ChannelClientEnd<Operation, Answer>;
  server = new ChannelServerEnd<Answer>(() => 50);
  judged = 0;
  private fence = 1_790_000_000_000_000n;

  constructor() {
    this.client = new ChannelClientEnd<Operation, Answer>(() => 50, {
      orphan: (operation) => {
        this.events.push(`orphan ${operation}`);
        this.ask('release', operation);
      },
      forgotten: (operation) => {
        this.events.push(`forgotten ${operation}`);
        this.ask('cancel', operation);
      },
      lost: (operation) => this.events.push(`lost ${operation}`),
      revoked: (operation) => this.events.push(`revoked ${operation}`),
    });
  }

  ask(ask: Operation['ask'], of = 0): number {
    const asker: Asker<Answer> = {
      of,
      answered: ({ said }, operation) =>
        this.answers.get(operation)?.push(said) ?? this.answers.set(operation, [said]),
      unanswered: () => this.events.push('unanswered'),
      askAgain: () => {
        this.events.push(`again ${ask}`);
        this.ask(ask, of);
      },
    };
    return this.client.ask({ ask, of }, asker);
  }

  up(parts = this.client.take()): ClientParts<Operation> | undefined {
    if (parts !== undefined) this.serve(parts);
    return parts;
  }

  serve(parts: ClientParts<Operation>): readonly Page[] {
    this.server.acknowledge(parts.received);
    const pages = parts.renewal === undefined ? undefined : this.server.judge(parts.renewal, this.waiting);
    if (pages !== undefined) this.judged++;
    const known = this.server.accept(parts.firstOperation, parts.operations.length);
    if (known === undefined) throw new Error('a gap');
    parts.operations.slice(known).forEach((operation, index) => {
      this.perform(operation, parts.firstOperation + known + index);
    });
    return pages ?? [];
  }

  down(pages: readonly Page[] = []): Down {
    return { ...this.server.take(60_000), pages };
  }

  /** Everything that can travel does. */
  settle(): void {
    for (let turn = 0; turn < 10; turn++) {
      const parts = this.client.take();
      const pages = parts === undefined ? [] : this.serve(parts);
      this.client.receive(this.down(pages));
    }
  }

  grant(operation: number): void {
    if (!this.waiting.delete(operation)) return;
    const fence = ++this.fence;
    this.server.granted(operation, `token ${operation}`, fence);
    this.server.answer({ operation, fence, said: 'granted' });
  }

  private perform({ ask, of }: Operation, number: number): void {
    this.seen.push(number);
    if (ask === 'acquire') return void this.waiting.set(number, {});
    const held = this.server.tokenOf(of) !== undefined;
    this.server.ended(of);
    if (ask === 'cancel' && this.waiting.delete(of))
      this.server.answer({ operation: of, fence: 0n, said: 'cancelled' });
    this.server.answer({ operation: number, fence: 0n, said: held ? 'released' : 'not held' });
  }
}

describe('both ends of a channel', () => {
  it('[K-166] an operation lost with its stream is sent again, and one that arrived is not performed twice', () => {
    const pair = new Pair();
    const first = pair.ask('acquire');
    const lost = pair.client.take();
    expect(lost?.operations).toHaveLength(1);
    pair.client.resume();
    const arrived = pair.up();
    pair.client.resume();
    pair.server.resume();
    expect(pair.client.take()).toEqual(arrived);
    pair.serve(arrived as NonNullable<typeof arrived>);
    expect(pair.seen).toEqual([first]);
  });

  it('[I8] an answer lost with its stream comes again, and one that arrived is heard once', () => {
    const pair = new Pair();
    const operation = pair.ask('acquire');
    pair.up();
    pair.grant(operation);
    const frame = pair.down();
    pair.client.receive(frame);
    pair.server.resume();
    expect(pair.client.receive(pair.down())).toBe(true);
    expect(pair.answers.get(operation)).toEqual(['granted']);
    expect(pair.client.grants).toBe(1);
  });

  it('a frame that does not follow what came before is not taken in', () => {
    const pair = new Pair();
    const frame = {
      received: 0,
      pages: [],
      firstMessage: 2,
      answers: [{ operation: 1, fence: 0n, said: 'x' }],
    };
    expect(pair.client.receive(frame)).toBe(false);
    expect(pair.server.accept(3, 1)).toBeUndefined();
  });

  it('a renewal is stamped with what was sent before it, not with what it travels with', () => {
    const pair = new Pair();
    const operation = pair.ask('acquire');
    pair.up();
    pair.grant(operation);
    pair.client.receive(pair.down());
    pair.ask('release', operation);
    pair.client.renew();
    const parts = pair.client.take();
    expect(parts?.renewal).toMatchObject({ lastOperation: 1, lastMessage: 1, grants: 1 });
    expect(pair.serve(parts as NonNullable<typeof parts>)).toEqual([]);
    expect(pair.judged).toBe(0);
  });

  it('a grant under way and a release under way are nobody’s mistake', () => {
    const pair = new Pair();
    const [first, second] = [pair.ask('acquire'), pair.ask('acquire')];
    pair.up();
    pair.grant(first);
    pair.client.receive(pair.down());
    pair.grant(second);
    pair.client.renew();
    const renewal = pair.client.take();
    pair.ask('release', first);
    const release = pair.client.take();
    pair.serve(renewal as NonNullable<typeof renewal>);
    pair.serve(release as NonNullable<typeof release>);
    pair.settle();
    expect(pair.judged).toBe(0);
    expect([pair.events, pair.client.grants]).toEqual([[], 1]);
  });

  it('after a resume nothing is judged before what was sent earlier has come again', () => {
    const pair = new Pair();
    const operation = pair.ask('acquire');
    pair.up();
    pair.grant(operation);
    pair.client.receive(pair.down());
    pair.ask('release', operation);
    pair.client.take();
    pair.client.resume();
    pair.client.renew();
    pair.settle();
    expect([pair.judged, pair.events, pair.client.grants, pair.server.grants]).toEqual([0, [], 0, 0]);
  });
});

describe('reconciliation (design D5)', () => {
  function held(): { pair: Pair; operation: number } {
    const pair = new Pair();
    const operation = pair.ask('acquire');
    pair.ask('acquire');
    pair.up();
    pair.grant(operation);
    pair.settle();
    return { pair, operation };
  }

  it('equal accounts are renewed without a list', () => {
    const { pair } = held();
    pair.client.renew();
    pair.settle();
    expect(pair.judged).toBe(0);
  });

  it('a grant the client lost track of is released within one renewal', () => {
    const { pair } = held();
    const orphan = pair.ask('acquire');
    pair.up();
    pair.waiting.delete(orphan);
    pair.server.granted(orphan, 'token', 77n);
    pair.server.answer({ operation: orphan, fence: 77n, said: 'granted' });
    // The message is taken in, its content is not.
    const frame = pair.down();
    pair.client.receive({ ...frame, answers: frame.answers.map((a) => ({ ...a, fence: 0n })) });
    pair.client.renew();
    pair.settle();
    expect(pair.events).toEqual([`orphan ${orphan}`]);
    expect(pair.server.tokenOf(orphan)).toBeUndefined();
  });

  it('a release that never had an effect is made again', () => {
    const { pair, operation } = held();
    pair.ask('release', operation);
    const parts = pair.client.take() as ClientParts<Operation>;
    pair.server.accept(parts.firstOperation, 1);
    pair.server.answer({ operation: parts.firstOperation, fence: 0n, said: 'released' });
    pair.settle();
    expect(pair.server.grants).toBe(1);
    pair.client.renew();
    pair.settle();
    expect([pair.events, pair.server.grants]).toEqual([[`orphan ${operation}`], 0]);
  });

  it('[D5] a waiter nobody waits for is cancelled within one renewal', () => {
    const { pair } = held();
    pair.waiting.set(999, {});
    pair.client.renew();
    pair.settle();
    expect([pair.events, pair.waiting.has(999)]).toEqual([['forgotten 999'], false]);
    pair.client.renew();
    pair.settle();
    expect(pair.judged).toBe(1);
  });

  it('[D5] [I7] a waiter the server has forgotten is asked for again within one renewal, and then granted', () => {
    const { pair } = held();
    const forgotten = pair.ask('acquire');
    pair.settle();
    pair.waiting.delete(forgotten);
    pair.client.renew();
    pair.settle();
    expect(pair.events).toEqual(['again acquire']);
    for (const number of [...pair.waiting.keys()]) pair.grant(number);
    pair.settle();
    expect([pair.client.unanswered, pair.client.grants]).toEqual([0, 3]);
    pair.client.renew();
    pair.settle();
    expect(pair.judged).toBe(1);
  });

  it('[D5] [I7] a release whose answer the server never made is made again', () => {
    const { pair, operation } = held();
    pair.ask('release', operation);
    const parts = pair.client.take() as ClientParts<Operation>;
    pair.server.accept(parts.firstOperation, 1);
    pair.settle();
    pair.client.renew();
    pair.settle();
    expect(pair.events.sort()).toEqual(['again release', `orphan ${operation}`]);
    expect([pair.client.unanswered, pair.server.grants]).toEqual([1, 0]);
  });

  it('an answer under way behind the lists is waited for, whatever they leave out', () => {
    const { pair } = held();
    const [answered, other] = [pair.ask('acquire'), pair.ask('acquire')];
    pair.up();
    // Something differs, so that the lists come while the answer is still under way.
    pair.waiting.delete(other);
    pair.grant(answered);
    pair.client.renew();
    const pages = pair.serve(pair.client.take() as ClientParts<Operation>);
    expect(pages.at(-1)).toMatchObject({ waiting: [2], last: true, lastMessage: 2 });
    pair.client.receive({ received: 4, pages, firstMessage: 2, answers: [] });
    expect(pair.events).toEqual([]);
    pair.client.receive(pair.down());
    expect(pair.events).toEqual(['again acquire']);
    expect(pair.answers.get(answered)).toEqual(['granted']);
  });

  it('a grant only the client knows is lost', () => {
    const { pair, operation } = held();
    pair.server.ended(operation);
    pair.client.renew();
    pair.settle();
    expect([pair.events, pair.client.grants]).toEqual([[`lost ${operation}`], 0]);
    pair.client.renew();
    pair.settle();
    expect(pair.judged).toBe(1);
  });

  const revoke = (pair: Pair, operation: number): void =>
    pair.server.revoke({ operation, fence: 0n, said: 'revoked' });

  it('[B-081] [D5] a revoked grant is over here with its notice, and no renewal before or after finds a difference', () => {
    const { pair, operation } = held();
    pair.client.renew();
    const before = pair.client.take() as ClientParts<Operation>;
    revoke(pair, operation);
    expect(pair.serve(before)).toEqual([]);
    pair.client.renew();
    const crossing = pair.client.take() as ClientParts<Operation>;
    pair.client.receive(pair.down());
    expect(pair.events).toEqual([`revoked ${operation}`]);
    expect(pair.serve(crossing)).toEqual([]);
    pair.client.renew();
    pair.settle();
    expect([pair.judged, pair.client.grants, pair.server.grants]).toEqual([0, 0, 0]);
    expect(pair.events).toEqual([`revoked ${operation}`]);
  });

  it('[B-081] [D5] a notice lost with its stream comes again, once', () => {
    const { pair, operation } = held();
    revoke(pair, operation);
    pair.down();
    pair.server.resume();
    pair.client.resume();
    pair.client.renew();
    pair.settle();
    pair.client.renew();
    pair.settle();
    expect([pair.events, pair.judged, pair.server.grants]).toEqual([[`revoked ${operation}`], 0, 0]);
  });

  it('[B-081] [D5] a release that crosses the notice finds nothing, and the notice tells nobody', () => {
    const { pair, operation } = held();
    const release = pair.ask('release', operation);
    const parts = pair.client.take() as ClientParts<Operation>;
    revoke(pair, operation);
    pair.serve(parts);
    pair.settle();
    pair.client.renew();
    pair.settle();
    expect(pair.answers.get(release)).toEqual(['not held']);
    expect([pair.events, pair.judged, pair.server.grants]).toEqual([[], 0, 0]);
  });

  it('[B-081] a grant that is revoked before its answer left is granted and over in one frame', () => {
    const { pair } = held();
    const operation = pair.ask('acquire');
    pair.up();
    pair.grant(operation);
    revoke(pair, operation);
    pair.settle();
    pair.client.renew();
    pair.settle();
    expect([pair.answers.get(operation), pair.events]).toEqual([['granted'], [`revoked ${operation}`]]);
    expect([pair.judged, pair.client.grants, pair.server.grants]).toEqual([0, 1, 1]);
  });

  it('lists of 2,500 grants come in three pages', () => {
    const pair = new Pair();
    for (let grants = 0; grants < 2_500; grants++) pair.ask('acquire');
    for (let frame = 0; frame < 3; frame++) pair.up();
    for (const operation of [...pair.waiting.keys()]) pair.grant(operation);
    for (let frame = 0; frame < 20; frame++) pair.client.receive(pair.down());
    pair.up();
    pair.server.ended(1_234);
    pair.client.renew();
    const pages = pair.serve(pair.client.take() as ClientParts<Operation>);
    expect(pages.map(({ held: numbers, last }) => [numbers.length, last])).toEqual([
      [1_000, false],
      [1_000, false],
      [499, true],
    ]);
    for (const page of pages) pair.client.receive({ ...pair.down(), pages: [page] });
    expect(pair.events).toEqual(['lost 1234']);
  });
});

describe('random runs over streams that break', () => {
  function random(seed: number): () => number {
    let state = seed;
    return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  }

  it.each(Array.from({ length: 60 }, (_, index) => index + 1))(
    '[I8] [I7] every operation is performed once, in order, and answered once (seed %i)',
    (seed) => {
      const next = random(seed);
      const pair = new Pair();
      const acquires: number[] = [];
      const given = new Set<number>();
      for (let step = 0; step < 400; step++) {
        const dice = next();
        if (dice < 0.3) acquires.push(pair.ask('acquire'));
        else if (dice < 0.45) {
          const operation = acquires[Math.floor(next() * acquires.length)];
          if (operation !== undefined && !given.has(operation)) {
            given.add(operation);
            const granted = pair.answers.get(operation)?.[0] === 'granted';
            if (granted) pair.ask('release', operation);
            else pair.ask('cancel', operation);
          }
        } else if (dice < 0.6)
          for (const operation of [...pair.waiting.keys()].slice(0, 2)) pair.grant(operation);
        else if (dice < 0.65) pair.client.renew();
        else if (dice < 0.72) {
          // The stream breaks; what was under way is gone.
          if (next() < 0.5) pair.client.take();
          if (next() < 0.5) pair.down();
          pair.client.resume();
          pair.server.acknowledge(pair.client.received);
          pair.server.resume();
        } else if (dice < 0.86) pair.up();
        else pair.client.receive(pair.down());
      }
      pair.client.resume();
      pair.server.resume();
      for (let turn = 0; turn < 10; turn++) {
        for (const operation of [...pair.waiting.keys()]) pair.grant(operation);
        pair.settle();
      }
      pair.client.renew();
      pair.settle();
      expect(pair.seen).toEqual(Array.from({ length: pair.seen.length }, (_, index) => index + 1));
      for (const [operation, answers] of pair.answers)
        expect([operation, answers.length]).toEqual([operation, 1]);
      expect(pair.answers.size).toBe(pair.seen.length);
      expect(pair.events).toEqual([]);
      expect([pair.judged, pair.client.grants]).toEqual([0, pair.server.grants]);
      expect([pair.client.unacknowledged, pair.client.unanswered]).toEqual([0, 0]);
    },
  );
});
