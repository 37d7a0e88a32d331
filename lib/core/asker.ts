import { LATER, type DriverAcquire, type DriverBusy, type DriverGrant, type Later } from './lock-driver.js';

type Reply = DriverGrant | DriverBusy;

/** Whoever is told the answer of an acquire that comes later, once. */
export interface Asker {
  settle(reply: Reply): void;
  fail(error: unknown): void;
}

/** Tells by a promise. */
export class PromisedReply implements Asker {
  settle!: (reply: Reply) => void;
  fail!: (error: unknown) => void;
  readonly promise = new Promise<Reply>((resolve, reject) => {
    this.settle = resolve;
    this.fail = reject;
  });
}

/** The request itself where it takes its answer, which costs nothing; else a promise of one. */
export function askerOf(request: DriverAcquire): Asker {
  return takesItsAnswer(request) ? request : new PromisedReply();
}

/** What a driver answers `acquire` with meanwhile. */
export function laterOf(asker: Asker): Promise<Reply> | Later {
  return asker instanceof PromisedReply ? asker.promise : LATER;
}

function takesItsAnswer(request: DriverAcquire): request is DriverAcquire & Asker {
  return request.settle !== undefined && request.fail !== undefined;
}
