import assert from 'node:assert/strict';
import type { Telemetry } from '../../core/index.js';
import type { ContractCase, Clients } from './harness.js';
import { pause } from './waiting.js';

/** Figures and spans come from the front end, so every driver's locks are seen alike. */
export const telemetryCases: readonly ContractCase[] = [
  {
    title:
      '[L-67] [L-68] [L-69] telemetry is told each acquire and release once, by driver and outcome, and what is held',
    async run(clients) {
      const { book, klock } = await watched(clients);
      const other = await clients.client();
      const [mine, taken] = [clients.key(), clients.key()];
      const blocker = await other.acquire(taken);
      const lock = await klock.acquire(mine);
      assert.equal(await klock.tryAcquire(taken), undefined);
      assert.equal(book.levels.get('lock.held'), 1);
      await lock.release();
      await blocker.release();
      assert.deepEqual(book.of('lock.acquire'), ['granted', 'busy']);
      assert.deepEqual(book.of('lock.acquire.duration'), ['granted', 'busy']);
      assert.deepEqual(book.of('lock.release'), ['released']);
      assert.deepEqual([...book.drivers], [klock.driver.name]);
      assert.deepEqual(book.spans, ['lock.acquire', 'lock.acquire', 'lock.release']);
      assert.deepEqual([book.levels.get('lock.held'), book.levels.get('lock.waiting')], [0, 0]);
    },
  },
  {
    title: '[L-70] telemetry is told renewals, and no span for any of them',
    async run(clients) {
      const { book, klock } = await watched(clients);
      const lock = await klock.acquire(clients.key());
      await pause(clients.harness.ttlMs);
      await lock.release();
      assert.ok(book.of('lock.renew').includes('renewed'));
      assert.deepEqual(book.spans, ['lock.acquire', 'lock.release']);
    },
  },
  {
    title: '[L-71] telemetry is told a loss once, with its reason',
    async run(clients) {
      const { book, klock } = await watched(clients);
      const lock = await klock.acquire(clients.key(), { maxHoldMs: 50 });
      await lock.done;
      await lock.release();
      assert.deepEqual(book.of('lock.lost'), ['max-hold']);
      assert.equal(book.levels.get('lock.held'), 0);
      assert.deepEqual(book.spans, ['lock.acquire', 'lock.lost']);
    },
  },
];

/** Keeps what it is told. */
class Notebook implements Telemetry {
  readonly levels = new Map<string, number>();
  readonly drivers = new Set<string | undefined>();
  readonly spans: string[] = [];
  private readonly told: (readonly [name: string, outcome: string])[] = [];

  count(name: string, labels: Readonly<Record<string, string>>): void {
    this.drivers.add(labels.driver);
    this.told.push([name, labels.outcome ?? labels.reason ?? '']);
  }

  measure(name: string, _ms: number, labels: Readonly<Record<string, string>>): void {
    this.count(name, labels);
  }

  shift(name: string, by: number): void {
    this.levels.set(name, (this.levels.get(name) ?? 0) + by);
  }

  span(name: string): { end(): void } {
    return { end: () => void this.spans.push(name) };
  }

  of(name: string): string[] {
    return this.told.filter(([told]) => told === name).map(([, outcome]) => outcome);
  }
}

async function watched(
  clients: Clients,
): Promise<{ book: Notebook; klock: Awaited<ReturnType<Clients['client']>> }> {
  const book = new Notebook();
  return { book, klock: await clients.client({ telemetry: book }) };
}
