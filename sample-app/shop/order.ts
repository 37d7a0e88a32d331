import { BadRequestException, Injectable, type PipeTransform } from '@nestjs/common';

/** What a customer asks for. */
export interface Order {
  readonly item: string;
  readonly quantity: number;
  /** How long the work between reading the stock and writing it takes, in milliseconds. */
  readonly workMs: number;
}

const ITEM = /^[A-Za-z0-9_-]{1,40}$/;
const DEFAULT_WORK_MS = 5;

/** Returns the name of an item. @throws BadRequestException naming the value. */
export function checkItem(value: unknown): string {
  if (typeof value === 'string' && ITEM.test(value)) return value;
  throw new BadRequestException(`item must be 1 to 40 letters, digits, - or _, got ${JSON.stringify(value)}`);
}

/** Returns a whole number within bounds. @throws BadRequestException naming the field and the value. */
export function checkWhole(field: string, value: unknown, lowest: number, highest: number): number {
  if (Number.isInteger(value) && (value as number) >= lowest && (value as number) <= highest)
    return value as number;
  throw new BadRequestException(
    `${field} must be a whole number from ${lowest} to ${highest}, got ${JSON.stringify(value)}`,
  );
}

/** Checks an order before anything is locked for it: the key is built from `item`. */
@Injectable()
export class OrderPipe implements PipeTransform<unknown, Order> {
  transform(body: unknown): Order {
    const { item, quantity = 1, workMs = DEFAULT_WORK_MS } = (body ?? {}) as Record<string, unknown>;
    return {
      item: checkItem(item),
      quantity: checkWhole('quantity', quantity, 1, 1_000),
      workMs: checkWhole('workMs', workMs, 0, 60_000),
    };
  }
}

@Injectable()
export class ItemPipe implements PipeTransform<unknown, string> {
  transform(value: unknown): string {
    return checkItem(value);
  }
}
