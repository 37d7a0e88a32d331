import { Injectable, Module } from '@nestjs/common';
import { CurrentLock, InjectKlock, KlockModule, Locked, type Klock, type LockHandle } from 'klock';

/** Loses updates unless its methods exclude each other: the write is a turn of the event loop behind the read. */
@Injectable()
export class Stock {
  left = 50;
  fences: bigint[] = [];

  constructor(@InjectKlock() readonly klock: Klock) {}

  @Locked('stock:{0}')
  async take(_article: string, @CurrentLock() lock?: LockHandle): Promise<number> {
    const read = this.left;
    await new Promise((resolve) => setImmediate(resolve));
    this.left = read - 1;
    if (lock) this.fences.push(lock.fence);
    return this.left;
  }
}

@Module({ imports: [KlockModule.forRoot()], providers: [Stock] })
export class StockModule {}

export async function sellOut(stock: Stock): Promise<void> {
  await Promise.all(Array.from({ length: 50 }, () => stock.take('screws')));
  if (stock.left !== 0) throw new Error(`lost updates: ${stock.left} left of 50`);
  const rising = stock.fences.every((fence, i) => i === 0 || fence > stock.fences[i - 1]!);
  if (stock.fences.length !== 50 || !rising) throw new Error('every holder should have seen a larger fence');
}
