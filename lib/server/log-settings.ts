import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from './server-log.js';
import type { Problems } from './problems.js';

/** Settings of the built-in log. */
export interface LogSettings {
  /** Least severity that is written. Default `info`. */
  readonly level?: LogLevel;
  /** One JSON object a line, or text for people. Default `json`. */
  readonly format?: LogFormat;
  /** `stdout`, `stderr`, or the path of a file, whose folder is made. Default `stdout`. */
  readonly output?: string;
  /** Whether a file's records also go to stdout, as text for people. Default true. */
  readonly console?: boolean;
  /** Megabytes after which a new file is begun. Default 100. */
  readonly maxSizeMb?: number;
  /** Old files kept; 0 keeps all. Default 10. */
  readonly maxBackups?: number;
  /** Days an old file is kept; 0 for ever. Default 30. */
  readonly maxAgeDays?: number;
  /** Whether old files are compressed (gzip). Default true. */
  readonly compress?: boolean;
}

const NAMES = [
  'level',
  'format',
  'output',
  'console',
  'maxSizeMb',
  'maxBackups',
  'maxAgeDays',
  'compress',
] as const;

/** The settings with their defaults; what is wrong goes to `problems`. */
export function resolveLogSettings(settings: LogSettings, problems: Problems): Required<LogSettings> {
  problems.unknown('log', settings, NAMES);
  const { level = 'info', format = 'json', output = 'stdout', console = true } = settings;
  const { maxSizeMb = 100, maxBackups = 10, maxAgeDays = 30, compress = true } = settings;
  return {
    level: problems.oneOf('log.level', level, LOG_LEVELS),
    format: problems.oneOf('log.format', format, LOG_FORMATS),
    output: problems.text('log.output', output),
    console: problems.boolean('log.console', console),
    maxSizeMb: problems.integer('log.maxSizeMb', maxSizeMb, 1),
    maxBackups: problems.integer('log.maxBackups', maxBackups, 0),
    maxAgeDays: problems.integer('log.maxAgeDays', maxAgeDays, 0),
    compress: problems.boolean('log.compress', compress),
  };
}
