import type { Socket } from 'node:net';
import { resetSocket } from './reset-socket.js';

export type Direction = 'up' | 'down';

export interface Conditions {
  latencyMs: number;
  jitterMs: number;
  bytesPerSecond: number;
  closeDelayMs: number;
  /** Nothing passes; what comes is kept for later, or lost. */
  silent: 'keeping' | 'losing' | undefined;
}

interface Item {
  readonly what: Buffer | 'end' | 'reset';
  readonly dueAt: number;
}

/** Above this much in flight the sender is held back, as a full window would. */
const WINDOW_BYTES = 1 << 20;

/** One direction of one connection through the proxy. */
export class ProxyFlow {
  hasLost = false;
  private readonly items: Item[] = [];
  private waitingBytes = 0;
  private lineFreeAt = 0;
  private lastDueAt = 0;
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;
  private stranded = false;

  constructor(
    private readonly from: Socket,
    private readonly to: Socket,
    private readonly conditions: Conditions,
  ) {
    from.on('data', (chunk: Buffer) => this.take(chunk));
    from.on('end', () => this.take('end'));
    from.on('error', () => this.take('reset'));
    to.on('drain', () => this.pump());
  }

  /** Passes on what is due, and comes back for the rest. */
  pump(): void {
    clearTimeout(this.timer);
    for (let next = this.items[0]; next && !this.held(); next = this.items[0]) {
      const waitMs = next.dueAt - performance.now();
      if (waitMs > 0) {
        this.timer = setTimeout(() => this.pump(), waitMs);
        return;
      }
      this.items.shift();
      this.pass(next.what);
    }
  }

  /** From now on nothing passes, whatever the weather; what comes is kept. */
  strand(): void {
    this.stranded = true;
  }

  /** Passes on what {@link strand} kept; how many bytes that is. */
  deliver(): number {
    const bytes = this.waitingBytes;
    this.stranded = false;
    this.pump();
    return bytes;
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    this.items.length = 0;
  }

  private held(): boolean {
    return this.stopped || this.stranded || this.conditions.silent !== undefined || this.to.writableNeedDrain;
  }

  private take(what: Item['what']): void {
    if (this.stopped) return;
    if (this.conditions.silent === 'losing') {
      this.hasLost = true;
      return;
    }
    this.items.push({ what, dueAt: this.due(what) });
    if (what instanceof Buffer) this.waitingBytes += what.length;
    if (this.waitingBytes > WINDOW_BYTES) this.from.pause();
    this.pump();
  }

  /** When this may arrive: after latency, jitter and the time the line needs for it, never before earlier data. */
  private due(what: Item['what']): number {
    const { latencyMs, jitterMs, bytesPerSecond, closeDelayMs } = this.conditions;
    const now = performance.now();
    const bytes = what instanceof Buffer ? what.length : 0;
    this.lineFreeAt = Math.max(now, this.lineFreeAt) + (bytes / bytesPerSecond) * 1_000;
    const late = latencyMs + Math.random() * jitterMs + (bytes === 0 ? closeDelayMs : 0);
    this.lastDueAt = Math.max(this.lastDueAt, this.lineFreeAt + late);
    return this.lastDueAt;
  }

  private pass(what: Item['what']): void {
    if (this.to.destroyed) return;
    if (what === 'end') this.to.end();
    else if (what === 'reset') resetSocket(this.to);
    else {
      this.to.write(what);
      this.waitingBytes -= what.length;
      if (this.waitingBytes <= WINDOW_BYTES) this.from.resume();
    }
  }
}
