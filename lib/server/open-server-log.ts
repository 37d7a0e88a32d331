import { type Clock, optionError } from '../core/index.js';
import { LogOutput } from './log-output.js';
import { type LogSettings, resolveLogSettings } from './log-settings.js';
import { Problems } from './problems.js';
import { type ServerLog, silentLog } from './server-log.js';

/** A log and how to end it. */
export interface OpenedLog {
  readonly log: ServerLog;
  close(): Promise<void>;
}

/** Opens what `ServerOptions.log` asks for. @throws InvalidOptionError for wrong settings, the file system's error for a file that cannot be opened. */
export async function openServerLog(
  wanted: ServerLog | LogSettings | undefined,
  clock: Clock,
): Promise<OpenedLog> {
  if (wanted === undefined) return { log: silentLog, close: () => Promise.resolve() };
  if (isServerLog(wanted)) return { log: wanted, close: () => Promise.resolve() };
  const output = await LogOutput.open(checkLogSettings(wanted), clock);
  return { log: output, close: () => output.close() };
}

/** Checks the settings of the built-in log; a log of the caller's own needs none. @throws InvalidOptionError */
export function checkLog(wanted: ServerLog | LogSettings | undefined): void {
  if (wanted === undefined) return;
  if (typeof wanted !== 'object' || wanted === null)
    throw optionError('log', 'a log or the settings of the built-in one', wanted);
  if (!isServerLog(wanted)) checkLogSettings(wanted);
}

function checkLogSettings(settings: LogSettings): Required<LogSettings> {
  const problems = new Problems();
  const resolved = resolveLogSettings(settings, problems);
  problems.throwIfAny('lock server log');
  return resolved;
}

function isServerLog(value: ServerLog | LogSettings): value is ServerLog {
  return (
    typeof (value as Partial<ServerLog>).write === 'function' &&
    typeof (value as Partial<ServerLog>).enabled === 'function'
  );
}
