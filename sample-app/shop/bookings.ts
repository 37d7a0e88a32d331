import { setTimeout as sleep } from 'node:timers/promises';
import { ConflictException, Injectable } from '@nestjs/common';
import type { LockHandle } from 'klock';
import type { Order } from './order.js';
import { Sections } from './sections.js';
import { Stock } from './stock.js';

/** The answer to an order that was booked. */
export interface Booking {
  readonly item: string;
  readonly quantity: number;
  readonly left: number;
  readonly fence?: string;
}

/**
 * Reads the stock, works, and writes what is left: safe only while nobody else does the same with this item. One
 * statement of SQL could do without a lock if there were no work between; the work stands for what a database cannot
 * take into its transaction, such as asking a payment provider.
 */
@Injectable()
export class Bookings {
  constructor(
    private readonly stock: Stock,
    private readonly sections: Sections,
  ) {}

  /** @throws ConflictException when sold out; StaleFenceError when overtaken; LockLostError when the lock was lost during the work. */
  book(order: Order, lock?: LockHandle): Promise<Booking> {
    const section = { item: order.item, ...fenceOf(lock) };
    return this.sections.during(section, () => this.sell(order, lock));
  }

  private async sell({ item, quantity, workMs }: Order, lock?: LockHandle): Promise<Booking> {
    const before = await this.stock.remaining(item);
    if (before < quantity) throw soldOut(item, before);
    await work(workMs, lock?.signal);
    const left = before - quantity;
    await this.stock.book(item, quantity, left, lock?.fence);
    return { item, quantity, left, ...fenceOf(lock) };
  }
}

const fenceOf = (lock?: LockHandle): { readonly fence?: string } =>
  lock === undefined ? {} : { fence: lock.fence.toString() };

function soldOut(item: string, left: number): ConflictException {
  return new ConflictException({ code: 'SOLD_OUT', message: `${left} of ${item} left`, left });
}

/** Ends early with the reason of the loss when the lock is lost meanwhile: what follows would be in vain. */
async function work(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}
