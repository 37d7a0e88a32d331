import { Injectable } from '@nestjs/common';

/** A booking at its work, between its read and its write. */
export interface Section {
  readonly item: string;
  /** Decimal; absent without a lock. */
  readonly fence?: string;
}

/** The bookings that run in this replica right now, for whoever wants to look. */
@Injectable()
export class Sections {
  private readonly running = new Set<Section>();

  async during<T>(section: Section, work: () => Promise<T>): Promise<T> {
    this.running.add(section);
    try {
      return await work();
    } finally {
      this.running.delete(section);
    }
  }

  list(): readonly Section[] {
    return [...this.running];
  }
}
