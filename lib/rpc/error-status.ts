import type { WireReader } from './wire-reader.js';
import type { WireWriter } from './wire-writer.js';

/** The ErrorStatus of the field table inside a frame of a channel. */
export interface WireError {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly serverId: string;
  readonly protocolVersion: string;
}

export function writeErrorStatus(writer: WireWriter, error: WireError): void {
  writer.int32(8, error.status);
  writer.string(18, error.code);
  writer.string(26, error.message);
  writer.string(34, error.serverId);
  writer.string(42, error.protocolVersion);
}

export function readErrorStatus(reader: WireReader): WireError {
  let [status, code, message, serverId, protocolVersion] = [0, '', '', '', ''];
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 8) status = reader.int32();
    else if (tag === 18) code = reader.string();
    else if (tag === 26) message = reader.string();
    else if (tag === 34) serverId = reader.string();
    else if (tag === 42) protocolVersion = reader.string();
    else reader.skip(tag);
  }
  return { status, code, message, serverId, protocolVersion };
}
