import type { LockKey, LockReport } from '../core/index.js';
import type { ChannelHolder, ChannelReport, ChannelWaiter } from '../rpc/index.js';
import { reportRoom } from './report-room.js';

/** A report as it travels: everybody the engine names, as far as they fit into one frame. */
export function channelReport(report: LockReport): ChannelReport {
  const fits = reportRoom();
  const holders = report.holders.map(holderOf).filter((holder) => fits(textsOf(holder)));
  const waiters = report.waiters.map(waiterOf).filter((waiter) => fits(textsOf(waiter)));
  return { locked: report.locked, holders, waiters, waiterCount: report.waiterCount };
}

function holderOf(holder: LockReport['holders'][number]): ChannelHolder {
  const { fence, session, client = '', host = '', metadata, heldMs, leaseLeftMs } = holder;
  return {
    ...partsOf(holder.key),
    fence,
    session,
    client,
    host,
    metadata,
    heldMs: whole(heldMs),
    leaseLeftMs: whole(leaseLeftMs),
  };
}

function waiterOf({ key, session, client = '', waitedMs }: LockReport['waiters'][number]): ChannelWaiter {
  return { ...partsOf(key), session, client, waitedMs: whole(waitedMs) };
}

function partsOf(key: LockKey): { l1: string; l2: string } {
  return { l1: key[0], l2: key[1] ?? '' };
}

function textsOf(entry: ChannelHolder | ChannelWaiter): string[] {
  const labels = 'metadata' in entry ? Object.entries(entry.metadata ?? {}).flat() : [];
  const host = 'host' in entry ? entry.host : '';
  return [entry.l1, entry.l2, entry.session, entry.client, host, ...labels];
}

function whole(ms: number): number {
  return Math.max(0, Math.round(ms));
}
