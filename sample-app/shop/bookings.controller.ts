import { Body, Controller, Get, Post } from '@nestjs/common';
import { CurrentFence, Locked } from 'klock';
import { Bookings, type Booking } from './bookings.js';
import { OrderPipe, type Order } from './order.js';
import { Sections, type Section } from './sections.js';

const QUEUE_MS = 30_000;

@Controller('bookings')
export class BookingsController {
  constructor(
    private readonly bookings: Bookings,
    private readonly sections: Sections,
  ) {}

  /** One booking of an item at a time, over all replicas; different items do not wait for each other. */
  @Post()
  @Locked('shop', 'item:{0.item}', { waitMs: QUEUE_MS })
  book(@Body(OrderPipe) order: Order, @CurrentFence() fence?: bigint): Promise<Booking> {
    return this.bookings.book(order, fence);
  }

  /** The same without the lock, to see what it is good for. */
  @Post('unlocked')
  bookUnlocked(@Body(OrderPipe) order: Order): Promise<Booking> {
    return this.bookings.book(order);
  }

  @Get('running')
  running(): readonly Section[] {
    return this.sections.list();
  }
}
