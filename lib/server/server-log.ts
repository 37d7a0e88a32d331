/** Severities, least first. `fatal` is for what ends the process. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'fatal'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const LOG_FORMATS = ['json', 'console'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

/** Facts of one record. No token and no whole session id ever goes in. */
export type LogFacts = Readonly<Record<string, string | number | boolean | undefined>>;

/** Where a server writes what it does. */
export interface ServerLog {
  /** Whether a record of this level would be written: spares the making of one that would not. */
  enabled(level: LogLevel): boolean;
  /** Writes one record. Never throws and never waits. */
  write(level: LogLevel, event: string, facts?: LogFacts): void;
}

/** Writes nothing. */
export const silentLog: ServerLog = { enabled: () => false, write: () => undefined };

/** Whether `level` is at least as severe as `floor`. */
export function atLeast(level: LogLevel, floor: LogLevel): boolean {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(floor);
}

/** What an unknown thrown value says, for one fact of a record. */
export function causeText(cause: unknown): string {
  return cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
}
