import type {
  DefiniteRelease,
  DriverAcquire,
  DriverBusy,
  DriverGrant,
  KeptLease,
  Later,
  LockKey,
  LockReport,
  ReleaseReader,
  RenewReply,
} from '../core/index.js';
import type { NoAnswer } from '../session/index.js';

/** What the driver asks of a client, however it speaks with its server. */
export interface StoreClient {
  readonly isClosed: boolean;
  /** Why the server refused the last acquire for now; undefined once it granted. */
  readonly lastWord: string | undefined;
  acquire(request: DriverAcquire): Promise<DriverGrant | DriverBusy> | Later;
  release(
    grant: DriverGrant,
    keepMs?: number,
    reader?: ReleaseReader,
  ): DefiniteRelease | Promise<DefiniteRelease> | Later;
  renew(leases: readonly KeptLease[], timeoutMs: number): Promise<readonly RenewReply[]>;
  abandon(lease: KeptLease, code: string): void;
  grantOf(token: string): DriverGrant | undefined;
  grants(): Iterable<DriverGrant>;
  reach(timeoutMs: number): Promise<NoAnswer | undefined>;
  inspect(key: LockKey, timeoutMs: number): Promise<LockReport>;
  close(timeoutMs: number): Promise<boolean>;
}
