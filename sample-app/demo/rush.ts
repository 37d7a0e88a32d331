import type { Answer } from './shop-client.js';
import type { Stage } from './stage.js';
import { counted, type Statements } from './statements.js';

const CUSTOMERS = 200;
const STOCK = 50;

interface Result {
  readonly booked: number;
  /** By replica A, by replica B. */
  readonly bookedBy: readonly number[];
  readonly soldOut: number;
  readonly refused: readonly Answer[];
  readonly tookMs: number;
}

/** 200 customers at once over both replicas, for 50 pieces, with the lock. */
export async function rushWithLock(stage: Stage, say: Statements): Promise<void> {
  say.chapter(
    `1. ${CUSTOMERS} bookings at once over both replicas, ${STOCK} chairs, each booking under the lock of the item`,
  );
  const result = await rush(stage, 'chair', '/bookings');
  const { left, booked } = await stage.a.shop.stock('chair');
  describe(result, say);
  say.check(
    `exactly ${STOCK} of ${CUSTOMERS} were booked, the other ${CUSTOMERS - STOCK} were told "sold out"`,
    result.booked === STOCK && result.soldOut === CUSTOMERS - STOCK,
  );
  say.check(`the database agrees: ${booked} booked, ${left} left`, booked === STOCK && left === 0);
}

/** The same without the lock. */
export async function rushWithoutLock(stage: Stage, say: Statements): Promise<void> {
  say.chapter(`2. The same without the lock: ${CUSTOMERS} bookings at once, ${STOCK} tables`);
  const result = await rush(stage, 'table', '/bookings/unlocked');
  const { booked } = await stage.a.shop.stock('table');
  describe(result, say);
  say.check(
    `${booked} of ${STOCK} tables were booked: oversold by ${booked - STOCK}`,
    booked > STOCK && booked === result.booked,
  );
}

async function rush(stage: Stage, item: string, path: '/bookings' | '/bookings/unlocked'): Promise<Result> {
  await stage.a.shop.setStock(item, STOCK);
  const since = performance.now();
  const shops = [stage.a.shop, stage.b.shop] as const;
  const orders = Array.from({ length: CUSTOMERS }, (_, turn) =>
    shops[turn % 2 === 0 ? 0 : 1].book({ item }, path),
  );
  const all = await Promise.all(orders);
  const tookMs = performance.now() - since;
  const bookedBy = [0, 1].map((shop) =>
    count(
      all.filter((_, turn) => turn % 2 === shop),
      'booked',
    ),
  );
  return {
    booked: count(all, 'booked'),
    bookedBy,
    soldOut: count(all, 'sold-out'),
    refused: all.filter((answer) => answer.outcome === 'refused'),
    tookMs,
  };
}

const count = (answers: readonly Answer[], outcome: Answer['outcome']): number =>
  answers.filter((answer) => answer.outcome === outcome).length;

function describe({ booked, bookedBy, soldOut, refused, tookMs }: Result, say: Statements): void {
  say.note(
    `${booked} booked (${bookedBy[0]} by replica A, ${bookedBy[1]} by replica B), ${soldOut} sold out, in ${counted(tookMs)} ms`,
  );
  for (const answer of refused.slice(0, 3)) say.note(`an order failed: ${JSON.stringify(answer)}`);
}
