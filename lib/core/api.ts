// What of this layer belongs to the package's users. Everything else in index.ts is for klock's own folders.
export { systemClock, type Clock, type Instant, type Timer } from './clock.js';
export type { Election, ElectionOptions, Leadership } from './election.js';
export * from './errors.js';
export { createKlock, type KlockEnvironment, type KlockInstance } from './front-end.js';
export type { Klock, Work } from './klock.js';
export type {
  Capabilities,
  DefiniteRelease,
  DriverAcquire,
  DriverBusy,
  DriverGrant,
  DriverHealth,
  DriverHost,
  DriverSettings,
  GrantEnd,
  KeptLease,
  LeaseTerms,
  LockDriver,
  RenewReply,
  ServerChange,
} from './lock-driver.js';
export type { LockEvent } from './lock-events.js';
export type { LockEnd, LockHandle, LockOwner, ReleaseOutcome } from './lock-handle.js';
export { lockKey, type KeyInput, type LockKey } from './lock-key.js';
export type {
  HolderPage,
  HolderReport,
  ListedHolder,
  LockReport,
  PageOptions,
  WaiterReport,
} from './lock-report.js';
export {
  DEFAULT_ATTEMPT_MS,
  DEFAULT_GRACE_MS,
  DEFAULT_HOLD_UNTIL_MS,
  DEFAULT_RELEASE_TIMEOUT_MS,
  DEFAULT_TTL_MS,
  DEFAULT_WAIT_MS,
  type AcquireOptions,
  type HoldOptions,
  type InstanceOptions,
  type KlockOptions,
  type TryOptions,
  type WaitOptions,
} from './options.js';
export { optionsFromEnv, type EnvironmentOptions } from './options-from-env.js';
export { systemRandom, type Random } from './random.js';
export type { RevokeOptions, RevokeReport } from './revoke.js';
export { ENTER_SECTION, type Section, type SectionOptions, type Sections } from './section.js';
export {
  noTelemetry,
  type SpanFacts,
  type Telemetry,
  type TelemetryLabels,
  type TelemetrySpan,
} from './telemetry.js';
