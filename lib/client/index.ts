export { DEFAULT_PORT, type ServerAddress } from './address.js';
export {
  CLIENT_OPTION_NAMES,
  resolveClientOptions,
  type ClientOptions,
  type ResolvedClientOptions,
  type Transport,
} from './client-options.js';
export { ChannelClient, type Speech } from './channel-client.js';
export { LockClient } from './lock-client.js';
export { errorOfOutcome, type NoAnswer } from '../session/index.js';
