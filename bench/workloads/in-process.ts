import { ROUNDS, type Bench } from '../bench.js';
import type { Child } from '../children/child.js';
import type { LocalCase } from '../in-process-child.js';
import { LOCAL_LOCKS, type LocalLockName } from '../in-process/index.js';
import { messageOf } from '../loads/sample.js';
import { median } from '../numbers.js';
import type { Workload } from './workload.js';

const KEYED: readonly LocalLockName[] = ['two-level-lock', 'memory-driver'];

const CASES: readonly { which: LocalCase; at: string; locks: readonly LocalLockName[] }[] = [
  { which: 'alone', at: 'uncontended', locks: LOCAL_LOCKS },
  { which: 'together', at: '64 waiters', locks: LOCAL_LOCKS },
  { which: 'keys1024', at: '1,024 keys, 64 callers', locks: KEYED },
  { which: 'mix5', at: '5 % whole tenants, 64 callers', locks: KEYED },
  { which: 'mix20', at: '20 % whole tenants, 64 callers', locks: KEYED },
];

/** What the ratios compare, and no more. */
const COMPARED: readonly LocalLockName[] = [
  'async-mutex',
  'async-mutex-imported',
  'lock-table',
  'memory-driver',
];
const QUICK_CASES = CASES.slice(0, 2).map((each) => ({ ...each, locks: COMPARED }));

interface Opened {
  readonly child: Child;
  readonly title: string;
  readonly ns: number[];
  problem?: string;
}

export const inProcess: Workload = {
  name: 'in-process',
  title: 'locks inside one process: nanoseconds for taking a key and giving it back',
  ratios: ['P11'],
  run: async (bench) => {
    for (const { which, at, locks } of bench.pick(QUICK_CASES, CASES)) {
      const opened = new Map<LocalLockName, Opened>();
      for (const name of locks) opened.set(name, await open(bench, name));
      for (let round = 0; round < ROUNDS; round++) {
        for (const each of opened.values()) await measure(bench, each, which);
      }
      for (const [contender, each] of opened) {
        bench.results.add(rowOf(contender, at, each));
        await each.child.close();
      }
    }
  },
};

async function open(bench: Bench, name: LocalLockName): Promise<Opened> {
  const child = bench.stage.newChild('in-process-child.js');
  try {
    return { child, title: await child.call<string>('open', name), ns: [] };
  } catch (error) {
    return { child, title: name, ns: [], problem: messageOf(error) };
  }
}

async function measure(bench: Bench, opened: Opened, which: LocalCase): Promise<void> {
  if (opened.problem !== undefined) return;
  try {
    bench.checkTime();
    opened.ns.push(await opened.child.call<number>('measure', which, bench.pick(60, 300)));
  } catch (error) {
    opened.problem = messageOf(error);
  }
}

function rowOf(
  contender: LocalLockName,
  at: string,
  { title, ns, problem }: Opened,
): Bench['results']['rows'][number] {
  const head = { workload: 'in-process', at, contender, title };
  if (problem !== undefined) return { ...head, figures: {}, notMeasured: problem };
  return { ...head, figures: { nsPerPair: median(ns) } };
}
