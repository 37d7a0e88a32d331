import { askerOf, type Asker, type DriverAcquire, type Linked, type LinkedList } from '../../core/index.js';
import type { CallId } from '../../engine/index.js';
import type { LocalSession } from './local-session.js';

/** One call that waits for its grant. */
export class LocalWait implements Linked<LocalWait> {
  list: LinkedList<LocalWait> | undefined = undefined;
  before: LocalWait | undefined = undefined;
  after: LocalWait | undefined = undefined;
  /** Ends listening to the caller's signal. */
  listening: Disposable | undefined = undefined;
  readonly asker: Asker;

  constructor(
    readonly session: LocalSession,
    readonly callId: CallId,
    readonly request: DriverAcquire,
  ) {
    this.asker = askerOf(request);
  }
}
