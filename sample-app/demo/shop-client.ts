import { setTimeout as sleep } from 'node:timers/promises';
import type { Booking } from '../shop/bookings.js';
import type { Section } from '../shop/sections.js';
import type { ItemReport } from '../shop/stock.js';

/** What became of an order. */
export type Answer =
  | { readonly outcome: 'booked'; readonly booking: Booking }
  | { readonly outcome: 'sold-out' }
  | { readonly outcome: 'refused'; readonly status: number; readonly code: string; readonly message: string };

export interface OrderBody {
  readonly item: string;
  readonly workMs?: number;
}

const POLL_MS = 10;
const POLL_WITHIN_MS = 20_000;

/** One replica as its customers see it. */
export class ShopClient {
  constructor(
    readonly url: string,
    private readonly signal: AbortSignal,
  ) {}

  async book(order: OrderBody, path: '/bookings' | '/bookings/unlocked' = '/bookings'): Promise<Answer> {
    const response = await this.send('POST', path, order);
    const body = (await response.json()) as Record<string, unknown>;
    if (response.ok) return { outcome: 'booked', booking: body as unknown as Booking };
    if (body.code === 'SOLD_OUT') return { outcome: 'sold-out' };
    return {
      outcome: 'refused',
      status: response.status,
      code: String(body.code),
      message: String(body.message),
    };
  }

  async setStock(item: string, left: number): Promise<void> {
    const response = await this.send('PUT', `/stock/${item}`, { left });
    if (!response.ok)
      throw new Error(`setting the stock of ${item}: ${response.status} ${await response.text()}`);
  }

  async stock(item: string): Promise<ItemReport> {
    const response = await this.send('GET', `/stock/${item}`);
    if (!response.ok)
      throw new Error(`reading the stock of ${item}: ${response.status} ${await response.text()}`);
    return (await response.json()) as ItemReport;
  }

  /** The fence of the booking of `item` that this replica is in the middle of, once there is one. */
  async fenceInSection(item: string): Promise<bigint> {
    for (const until = performance.now() + POLL_WITHIN_MS; performance.now() < until; await sleep(POLL_MS)) {
      const sections = (await (await this.send('GET', '/bookings/running')).json()) as Section[];
      const fence = sections.find((section) => section.item === item)?.fence;
      if (fence !== undefined) return BigInt(fence);
    }
    throw new Error(`no booking of ${item} began at ${this.url}`);
  }

  private send(method: string, path: string, body?: unknown): Promise<Response> {
    return fetch(this.url + path, {
      method,
      signal: this.signal,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }
}
