import { FakeClock } from '../../core/index.js';
import { Background } from './background.js';
import { FakeLink } from './fake-link.spec-support.js';
import { treeName } from './key-names.js';
import { refusal } from './refusal.js';
import { Sendings } from './sendings.js';
import { judgeStore } from './store-checks.js';
import { StoreTime } from './store-time.js';

describe('treeName', () => {
  it('[D-56] [L-66] never joins different pairs to one name, and leaves one tag: that of the L1', () => {
    const parts = ['', 'a', '{', '}', '{}', 'a{b', '}a', '%7B', '%', 'lock:'];
    const names = parts.flatMap((prefix) => parts.slice(1).map((l1) => treeName(prefix, l1)));
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[^{}]*\{[^{}]+\}$/);
  });
});

describe('what an error reply means', () => {
  it.each([
    ['OOM command not allowed when used memory > maxmemory', 'LOCK_UNAVAILABLE', true],
    ['MISCONF Redis is configured to save RDB snapshots', 'LOCK_UNAVAILABLE', true],
    ["READONLY You can't write against a read only replica.", 'LOCK_UNAVAILABLE', true],
    ['LOADING Redis is loading the dataset in memory', 'LOCK_UNAVAILABLE', true],
    ['CLUSTERDOWN Hash slot not served', 'LOCK_UNAVAILABLE', true],
    ['TRYAGAIN Multiple keys request during rehashing of slot', 'LOCK_UNAVAILABLE', true],
    ['ERR Script attempted to access a non local key in a cluster node', 'LOCK_UNAVAILABLE', true],
    [
      'ERR Script attempted to execute a write command while the cluster is down and readonly',
      'LOCK_UNAVAILABLE',
      true,
    ],
    ["NOPERM this user has no permissions to run the 'evalsha' command", 'BACKEND_MISCONFIGURED', false],
    ['NOAUTH Authentication required.', 'BACKEND_MISCONFIGURED', false],
    ["CROSSSLOT Keys in request don't hash to the same slot", 'BACKEND_MISCONFIGURED', false],
    ["ERR unknown command 'EVALSHA'", 'BACKEND_MISCONFIGURED', false],
    [
      "ERR The user executing the script can't access at least one of the keys",
      'BACKEND_MISCONFIGURED',
      false,
    ],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', 'BACKEND_STATE', false],
    ['ERR something new', 'BACKEND_STATE', false],
  ])('[B-047] %s', (reply, code, passing) => {
    const refused = refusal(reply, 'lock:{k}', {});
    expect(refused).toMatchObject({ passing, error: { code } });
    expect(refused.error.message).toContain('lock:{k}');
    expect(refused.error.message).toContain(reply);
  });
});

describe('what a probe means', () => {
  const good = {
    evictionPolicy: 'noeviction',
    maxMemory: '1000',
    role: 'master',
    version: '7.0.15',
    missing: '',
  };
  const strict = {
    prefix: '',
    fencing: 'required',
    eviction: 'refuse',
    replicas: undefined,
    storeName: undefined,
  } as const;

  it('nothing is said of a primary that evicts nothing, or has no limit', () => {
    expect(judgeStore(good, 'r', strict, {})).toEqual({ refused: undefined, warnings: [] });
    const unlimited = { ...good, evictionPolicy: 'allkeys-lru', maxMemory: '0' };
    expect(judgeStore(unlimited, 'r', strict, {}).refused).toBeUndefined();
  });

  it.each([
    ['a replica', { role: 'slave' }],
    ['keys that may be evicted', { evictionPolicy: 'volatile-ttl' }],
    ['a server too old', { version: '6.0.16' }],
  ])('%s is refused', (_, found) => {
    expect(judgeStore({ ...good, ...found }, 'r', strict, {}).refused).toMatchObject({
      code: 'BACKEND_MISCONFIGURED',
    });
  });

  it('eviction is a warning where that was asked for', () => {
    const found = { ...good, evictionPolicy: 'allkeys-lfu' };
    const verdict = judgeStore(found, 'r', { ...strict, eviction: 'warn' }, {});
    expect(verdict.refused).toBeUndefined();
    expect(verdict.warnings.map(([code]) => code)).toEqual(['REDIS_MAY_EVICT']);
  });
});

describe('StoreTime', () => {
  it('goes on from the last time met, and forgets it with the connection but never what it has seen', () => {
    const clock = new FakeClock();
    const time = new StoreTime(clock);
    expect(time.nowMs('n')).toBeUndefined();
    time.met('n', '1800000000000999', 'tree');
    clock.block(1_500);
    expect(time.nowMs('n')).toBe(1_800_000_001_500);
    expect(time.notMetFor(1_000)).toEqual(['tree']);
    expect(time.notMetFor(2_000)).toEqual([]);
    time.see('9223372036854775807');
    time.see('99');
    time.forget();
    expect(time.nowMs('n')).toBeUndefined();
    expect(time.seen).toBe('9223372036854775807');
  });
});

describe('[D4] a tombstone', () => {
  const setUp = (): { link: FakeLink; time: StoreTime; sendings: Sendings; send: () => void } => {
    const clock = new FakeClock();
    const [link, time, sendings] = [new FakeLink(), new StoreTime(clock), new Sendings()];
    time.met('n', '1800000000000000', 'tree');
    const send = (): void =>
      sendings.sent({ sentAt: clock.now(), notAfterMs: 1_800_000_001_000, epoch: link.epoch, node: 'n' });
    return { link, time, sendings, send };
  };

  it('is not needed for an acquire whose every sending was answered over one connection', () => {
    const { link, time, sendings, send } = setUp();
    for (let turn = 0; turn < 3; turn++) {
      send();
      sendings.answered();
    }
    expect(sendings.tombstoneUntilMs(link, time, 'n')).toBe(0);
  });

  it('lasts 5 s beyond the last moment of a copy if one is unanswered, its connection was replaced, or cannot be seen', () => {
    const unanswered = setUp();
    unanswered.send();
    expect(unanswered.sendings.tombstoneUntilMs(unanswered.link, unanswered.time, 'n')).toBe(
      1_800_000_006_000,
    );
    const replaced = setUp();
    replaced.send();
    replaced.sendings.answered();
    replaced.link.change('ready');
    expect(replaced.sendings.tombstoneUntilMs(replaced.link, replaced.time, 'n')).toBe(1_800_000_006_000);
    const unseen = setUp();
    unseen.send();
    unseen.sendings.answered();
    unseen.link.seesConnections = false;
    expect(unseen.sendings.tombstoneUntilMs(unseen.link, unseen.time, 'n')).toBe(1_800_000_006_000);
  });

  it('is not written once no copy can be executed any more', () => {
    const { link, time, sendings, send } = setUp();
    send();
    time.met('n', '1800000006000000', 'tree');
    expect(sendings.tombstoneUntilMs(link, time, 'n')).toBe(0);
  });
});

describe('Background', () => {
  it('[D11] begins no more than 20,000 tasks and tells once when it is full', async () => {
    const full: number[] = [];
    const background = new Background((limit) => void full.push(limit));
    const ends: (() => void)[] = [];
    for (let task = 0; task < 20_002; task++)
      background.run(() => new Promise<void>((resolve) => ends.push(resolve)));
    expect([background.size, full]).toEqual([20_000, [20_000]]);
    for (const end of ends) end();
    await background.done();
    expect(background.size).toBe(0);
  });

  it('survives a task that fails', async () => {
    const background = new Background(() => undefined);
    background.run(() => Promise.reject(new Error('mine')));
    await background.done();
    expect(background.size).toBe(0);
  });
});
