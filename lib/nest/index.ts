export { CurrentFence, CurrentLock } from './current-lock.decorator.js';
export type { ErrorStatus } from './error-status.js';
export { FENCE_HEADER } from './fence-header.js';
export { KlockExceptionFilter } from './klock-exception.filter.js';
export { KlockInterceptor } from './klock.interceptor.js';
export { KlockModule } from './klock.module.js';
export { Locked, type Lockable, type LockedDecorator } from './locked.decorator.js';
export type { LockedOptions } from './locked-options.js';
export { lockSlot, type GrantedLock, type KlockSlot } from './lock-slot.js';
export type {
  Backend,
  DriverBackend,
  HostedServerOptions,
  ServerBackend,
  UrlBackend,
} from './backend-options.js';
export type { KlockFeatureOptions, KlockModuleAsyncOptions, KlockModuleOptions } from './module-options.js';
export { InjectKlock, getKlockToken } from './tokens.js';
