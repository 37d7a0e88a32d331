import { Module } from '@nestjs/common';
import { Bookings } from './bookings.js';
import { BookingsController } from './bookings.controller.js';
import { Database } from './database.js';
import { Sections } from './sections.js';
import { StockController } from './stock.controller.js';
import { Stock } from './stock.js';

@Module({
  controllers: [BookingsController, StockController],
  providers: [Bookings, Database, Sections, Stock],
})
export class ShopModule {}
