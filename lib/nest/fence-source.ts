import type { ExecutionContext } from '@nestjs/common';
import { FENCE_HEADER } from '../fencing/index.js';

const NAME = FENCE_HEADER.toLowerCase();

interface Request {
  readonly headers?: Readonly<Record<string, unknown>>;
}

/** The call's `Klock-Fence`: header of an HTTP request (GraphQL too), metadata of a gRPC call; undefined for none. */
export function fenceSentWith(context: ExecutionContext): unknown {
  switch (context.getType<string>()) {
    case 'http':
      return headerOf(context.switchToHttp().getRequest<Request>());
    case 'graphql':
      return headerOf(context.getArgByIndex<{ readonly req?: Request } | undefined>(2)?.req);
    case 'rpc':
      return metadataOf(context.switchToRpc().getContext());
    default:
      return undefined;
  }
}

/** Node joins what a client sent several times into one list. */
function headerOf(request: Request | undefined): unknown {
  return request?.headers?.[NAME];
}

function metadataOf(metadata: { get?(name: string): unknown } | undefined): unknown {
  if (typeof metadata?.get !== 'function') return undefined;
  const values = metadata.get(NAME);
  if (!Array.isArray(values)) return values;
  return values.length === 0 ? undefined : values.map(String).join(', ');
}
