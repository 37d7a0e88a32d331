import { setTimeout as sleep } from 'node:timers/promises';
import { ConflictException, Injectable } from '@nestjs/common';
import type { Order } from './order.js';
import { Sections } from './sections.js';
import { Stock } from './stock.js';

/** The answer to an order that was booked. */
export interface Booking {
  readonly item: string;
  readonly quantity: number;
  readonly left: number;
  /** Decimal; absent without a lock. */
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

  /**
   * @param fence of the lock this runs under; undefined without one.
   * @throws ConflictException when sold out; StaleFenceError when somebody with a larger fence has written since.
   */
  async book({ item, quantity, workMs }: Order, fence?: bigint): Promise<Booking> {
    const before = await this.stock.remaining(item);
    if (before < quantity) throw soldOut(item, before);
    const asText = fence === undefined ? {} : { fence: fence.toString() };
    await this.sections.during({ item, ...asText }, () => sleep(workMs));
    // Whether the lock is still held is not asked here: it could be lost between the answer and the write. The
    // database decides, by the fence.
    const left = before - quantity;
    await this.stock.book(item, quantity, left, fence);
    return { item, quantity, left, ...asText };
  }
}

function soldOut(item: string, left: number): ConflictException {
  return new ConflictException({ code: 'SOLD_OUT', message: `${left} of ${item} left`, left });
}
