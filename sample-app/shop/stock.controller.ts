import { Body, Controller, Get, NotFoundException, Param, Put } from '@nestjs/common';
import { CurrentFence, Locked } from 'klock';
import { ItemPipe, checkWhole } from './order.js';
import { Stock, type ItemReport } from './stock.js';

@Controller('stock')
export class StockController {
  constructor(private readonly stock: Stock) {}

  @Get(':item')
  async show(@Param('item', ItemPipe) item: string): Promise<ItemReport> {
    const report = await this.stock.report(item);
    if (report === undefined) throw new NotFoundException(`no item ${item}`);
    return report;
  }

  /** Waits for a booking of the item that is under way: what it writes would undo this. */
  @Put(':item')
  @Locked('shop', 'item:{0}')
  async reset(
    @Param('item', ItemPipe) item: string,
    @Body('left') left: unknown,
    @CurrentFence() fence?: bigint,
  ): Promise<ItemReport> {
    const remaining = checkWhole('left', left, 0, 1_000_000);
    if (fence === undefined) throw new Error('the stock is set under a lock only');
    await this.stock.reset(item, remaining, fence);
    return this.show(item);
  }
}
