import { FakeClock, settle } from '../../core/index.js';
import type { Answer } from './answer.js';
import { FakeLink } from './fake-link.spec-support.js';
import type { Question } from './operations.js';
import { ScriptCalls } from './script-calls.js';
import { StoreTime } from './store-time.js';

function setUp(): {
  clock: FakeClock;
  link: FakeLink;
  calls: ScriptCalls;
  time: StoreTime;
  woken: string[];
  reached: boolean[];
  ask: (tree: string, ms?: number) => Promise<Answer<string>>;
} {
  const clock = new FakeClock();
  const link = new FakeLink();
  const time = new StoreTime(clock);
  const [woken, reached]: [string[], boolean[]] = [[], []];
  const calls = new ScriptCalls(
    link,
    clock,
    time,
    { channel: 'c', label: 'l', fencing: 'required' },
    {
      woken: (ids) => void woken.push(ids),
      reachable: (is) => void reached.push(is),
    },
  );
  const question = (tree: string): Question<string> => ({
    name: 'release',
    tree,
    l2: '',
    who: '',
    meta: '',
    facts: {},
    words: ({ notAfterMs }) => `w${notAfterMs}`,
    read: ([first]) => first as string,
  });
  const ask = (tree: string, ms = 1_000): Promise<Answer<string>> =>
    calls.ask(question(tree), clock.monoMs() + ms);
  return { clock, link, calls, time, woken, reached, ask };
}

describe('operations of one turn', () => {
  it('travel in one call, and are answered one by one', async () => {
    const { link, ask, woken, time } = setUp();
    const answers = [ask('a'), ask('b'), ask('a')];
    await settle();
    expect(link.calls).toHaveLength(1);
    expect(link.last.keys).toEqual(['a']);
    expect(link.last.trees).toEqual(['a', 'b', 'a']);
    expect(link.last.operations).toEqual(Array<string>(3).fill('release w0\n\n\n'));
    link.last.answer(['x', ['error', 'WRONGTYPE no'], ['y']], 'id1,id2');
    const [first, second, third] = await Promise.all(answers);
    expect(first).toMatchObject({ type: 'answered', value: 'x' });
    expect(second).toMatchObject({ type: 'refused', passing: false, error: { code: 'BACKEND_STATE' } });
    expect(third).toMatchObject({ type: 'answered', value: 'y' });
    expect(woken).toEqual(['id1,id2']);
    expect(time.nowMs('node')).toBe(1_800_000_000_000);
    expect(time.seen).toBe('1800000000000000');
  });

  it('travel in one call per slot on a Cluster', async () => {
    const { link, ask } = setUp();
    link.topology = 'cluster';
    void ask('{a}');
    void ask('{b}');
    void ask('x{a}y');
    await settle();
    // And one at which nothing ever stands.
    expect(link.calls.map(({ keys }) => keys)).toEqual([
      ['{a}', '{a}:moves'],
      ['{b}', '{b}:moves'],
    ]);
    expect(link.calls.map(({ trees }) => trees)).toEqual([['{a}', 'x{a}y'], ['{b}']]);
  });

  it('carry a time of the server after which they change nothing', async () => {
    const { clock, link, ask } = setUp();
    void ask('a');
    await settle();
    link.last.answer([['x']]);
    await clock.advance(100);
    void ask('a', 700);
    await settle();
    expect(link.last.operations[0]).toBe('release w1800000000800\n\n\n');
  });

  it('are gathered while four calls are under way', async () => {
    const { link, ask } = setUp();
    for (let call = 0; call < 4; call++) {
      void ask('a');
      await settle();
    }
    void ask('b');
    void ask('c');
    await settle();
    expect(link.calls).toHaveLength(4);
    link.calls[0]!.answer([['x']]);
    await settle();
    expect(link.last.trees).toEqual(['b', 'c']);
  });

  it.each([
    [16, [16]],
    [17, [16, 1]],
    [64, [32, 32]],
    [400, [128, 128, 128, 16]],
  ])(
    '%d at once are shared by calls of which one is carried out while the next is made',
    async (count, shares) => {
      const { link, ask } = setUp();
      for (let at = 0; at < count; at++) void ask(`t${at}`);
      await settle();
      expect(link.calls.map(({ trees }) => trees.length)).toEqual(shares);
    },
  );

  it('[D11] beyond 20,000 that could not be sent are known not to have been', async () => {
    const { link, ask } = setUp();
    link.change('connecting');
    for (let at = 0; at < 20_000; at++) void ask('a', 60_000);
    expect(await ask('a', 60_000)).toMatchObject({ type: 'unsent' });
  });
});

describe('an operation', () => {
  it('that cannot be sent in time is unsent; one sent and not answered is unanswered', async () => {
    const { clock, link, ask, reached } = setUp();
    link.change('connecting');
    const unsent = ask('a', 100);
    await clock.advance(100);
    expect(await unsent).toMatchObject({ type: 'unsent' });
    expect(link.calls).toEqual([]);
    link.change('ready');
    const unanswered = ask('a', 100);
    await clock.advance(100);
    expect(await unanswered).toMatchObject({ type: 'unanswered' });
    link.last.answer([['late']]);
    await settle();
    expect(reached).toEqual([false, false, true]);
  });

  it('waits for the connection, and goes out when it is there', async () => {
    const { link, ask } = setUp();
    link.change('connecting');
    const answer = ask('a');
    await settle();
    expect(link.calls).toEqual([]);
    link.change('ready');
    await settle();
    link.last.answer([['x']]);
    expect(await answer).toMatchObject({ type: 'answered' });
  });

  it('whose client is closed, or never let in, is settled at once [B-045]', async () => {
    const { link, ask } = setUp();
    link.change('closed');
    expect(await ask('a')).toMatchObject({ type: 'unsent' });
    link.change('connecting', new Error('WRONGPASS invalid username-password pair'));
    expect(await ask('a')).toMatchObject({ type: 'refused', error: { code: 'BACKEND_MISCONFIGURED' } });
  });

  it('whose connection was lost is unanswered a moment later, even if the client never says so [B-045]', async () => {
    const { clock, link, ask } = setUp();
    const answer = ask('a', 60_000);
    await settle();
    link.change('connecting');
    link.change('ready');
    await clock.advance(250);
    expect(await answer).toMatchObject({ type: 'unanswered' });
  });

  it('nobody wants any more is not sent', async () => {
    const { clock, link, calls } = setUp();
    const answer = calls.ask(
      {
        name: 'renew',
        tree: 'a',
        l2: '',
        who: '',
        meta: '',
        facts: {},
        words: () => '',
        read: () => 0,
        isWanted: () => false,
      },
      clock.monoMs() + 100,
    );
    expect(await answer).toMatchObject({ type: 'unsent' });
    expect(link.calls).toEqual([]);
  });

  it('of a call that Redis refuses is refused; of one that ends otherwise nobody knows', async () => {
    const { link, ask } = setUp();
    const [refused] = [ask('a'), await settle()];
    link.last.fail(new Error('OOM command not allowed'));
    expect(await refused).toMatchObject({ type: 'refused', passing: true, error: { storeCode: 'OOM' } });
    const [moving] = [ask('a'), await settle()];
    const lastNodeError = new Error('TRYAGAIN Multiple keys request during rehashing of slot');
    link.last.fail(Object.assign(new Error('Too many Cluster redirections.'), { lastNodeError }));
    expect(await moving).toMatchObject({ type: 'refused', passing: true, error: { storeCode: 'TRYAGAIN' } });
    const [unknown] = [ask('a'), await settle()];
    link.last.fail(new Error('Connection is closed.'));
    expect(await unknown).toMatchObject({ type: 'unanswered' });
    const [odd] = [ask('a'), await settle()];
    link.last.answer([]);
    expect(await odd).toMatchObject({ type: 'unanswered' });
  });
});
