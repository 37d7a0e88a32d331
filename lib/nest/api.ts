export type { FenceProof } from '../core/index.js';
export { bindLocks } from './bind-locks.js';
export { CurrentFence, CurrentLock } from './current-lock.decorator.js';
export type { ErrorStatus } from './error-status.js';
export { FenceGuard } from './fence-guard.js';
export { FENCE_HEADER } from './fence-header.js';
export { FenceModule } from './fence-module.js';
export type { FenceModuleAsyncOptions, FenceModuleOptions } from './fence-options.js';
export { Fenced } from './fenced.decorator.js';
export { KlockExceptionFilter } from './klock-exception.filter.js';
export {
  KlockHealthIndicator,
  type KlockHealth,
  type KlockHealthOptions,
  type KlockHealthResult,
} from './klock.health.js';
export { KlockInterceptor } from './klock.interceptor.js';
export { KlockModule } from './klock.module.js';
export { Locked, type Lockable, type LockedDecorator } from './locked.decorator.js';
export type { LockedOptions } from './locked-options.js';
export { lockSlot, type GrantedLock, type KlockSlot } from './lock-slot.js';
export type {
  Backend,
  DriverBackend,
  EtcdBackend,
  HostedServerOptions,
  RedisBackend,
  ServerBackend,
  UrlBackend,
} from './backend-options.js';
export type { KlockFeatureOptions, KlockModuleAsyncOptions, KlockModuleOptions } from './module-options.js';
export {
  RequiresLock,
  type RequiresLockDecorator,
  type RequiresLockOptions,
} from './requires-lock.decorator.js';
export { InjectKlock, getKlockToken } from './tokens.js';
export { asTransaction, type AsTransactionOptions } from './transaction-order.js';
