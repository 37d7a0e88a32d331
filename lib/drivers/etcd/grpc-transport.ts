import {
  Client,
  Metadata,
  credentials,
  type ChannelCredentials,
  type ClientOptions,
  type ServiceError,
} from '@grpc/grpc-js';
import type { Clock } from '../../core/index.js';
import { MAX_REPLY_BYTES } from './bounds.js';
import type { EtcdSettings } from './etcd-options.js';
import type { Method } from './methods.js';
import { CallError, type Stream, type StreamListener, type Transport } from './transport.js';

const CHANNEL: ClientOptions = {
  // A copy of an acquire is sent by us, who count them, or not at all.
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  // etcd refuses more than one ping in 5 s.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 3_000,
  // A member that is back must be met within a second.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  'grpc.max_receive_message_length': MAX_REPLY_BYTES,
  'grpc.enable_http_proxy': 0,
  // One driver's broken connection is not another's.
  'grpc.use_local_subchannel_pool': 1,
};

/** One gRPC client for each member, connected on first use. */
export class GrpcTransport implements Transport {
  private readonly clients: (Client | undefined)[] = [];
  private readonly credentials: ChannelCredentials;
  private readonly options: ClientOptions;

  constructor(
    private readonly settings: EtcdSettings,
    private readonly clock: Clock,
  ) {
    const { tls } = settings;
    this.credentials =
      tls === undefined
        ? credentials.createInsecure()
        : credentials.createSsl(tls.ca ?? null, tls.key ?? null, tls.cert ?? null);
    this.options =
      tls?.serverName === undefined
        ? CHANNEL
        : {
            ...CHANNEL,
            'grpc.ssl_target_name_override': tls.serverName,
            'grpc.default_authority': tls.serverName,
          };
  }

  get members(): number {
    return this.settings.hosts.length;
  }

  unary<Req, Res>(
    member: number,
    method: Method<Req, Res>,
    request: Partial<Req>,
    { timeoutMs, token }: { readonly timeoutMs: number; readonly token: string | undefined },
  ): Promise<Res> {
    return new Promise((resolve, reject) => {
      this.client(member).makeUnaryRequest(
        method.path,
        (message: Partial<Req>) => method.request.encode(message),
        (encoded: Buffer) => method.response.decode(encoded),
        request,
        metadata(token),
        // The member sees it too, and drops what it could not do in time.
        { deadline: this.clock.wallMs() + timeoutMs },
        (error, reply) => {
          if (error !== null) reject(callError(error, member));
          else resolve(reply as Res);
        },
      );
    });
  }

  open<Req, Res>(
    member: number,
    method: Method<Req, Res>,
    listener: StreamListener<Res>,
    { token }: { readonly token: string | undefined },
  ): Stream<Req> {
    const call = this.client(member).makeBidiStreamRequest(
      method.path,
      (message: Partial<Req>) => method.request.encode(message),
      (encoded: Buffer) => method.response.decode(encoded),
      metadata(token),
    );
    let over = false;
    const end = (error: CallError): void => {
      if (over) return;
      over = true;
      listener.ended(error);
    };
    call.on('data', (reply: Res) => {
      if (!over) listener.message(reply);
    });
    // Listened to for good: a cancelled stream still reports its own end.
    call.on('error', (error: ServiceError) => end(callError(error, member)));
    call.on('end', () => end(new CallError(14, 'the member ended the stream', member)));
    return {
      send: (message) => {
        if (!over) call.write(message);
      },
      close: () => {
        over = true;
        call.cancel();
      },
    };
  }

  close(): void {
    for (const client of this.clients) client?.close();
    this.clients.length = 0;
  }

  private client(member: number): Client {
    const host = this.settings.hosts[member];
    if (host === undefined) throw new RangeError(`there is no member ${member}`);
    return (this.clients[member] ??= new Client(host, this.credentials, this.options));
  }
}

/** A member that sees no leader shall say so at once, instead of keeping us waiting for one. */
function metadata(token: string | undefined): Metadata {
  const fields = new Metadata();
  fields.set('hasleader', 'true');
  if (token !== undefined) fields.set('token', token);
  return fields;
}

function callError(error: ServiceError, member: number): CallError {
  return new CallError(error.code, error.details || error.message, member);
}
