import { inspect } from 'node:util';

/** Facts of a record: what any log keeps as it is. Undefined ones are left out. */
export type LogFacts = Readonly<Record<string, string | number | undefined>>;

/**
 * One record for Nest's logger: its fields where the logger writes objects (Nest's own with `json: true`, pino, winston),
 * its sentence where the logger writes text.
 */
export class LogRecord {
  [fact: string]: unknown;

  constructor(
    /** What happened, for programs: `lock.lost`, say. */
    readonly event: string,
    /** The same for people. */
    readonly message: string,
    facts: LogFacts,
  ) {
    for (const [name, value] of Object.entries(facts)) if (value !== undefined) this[name] = value;
  }

  toString(): string {
    return this.message;
  }

  /** What Nest's logger shows of an object that is none of the plain ones. */
  [inspect.custom](): string {
    return this.message;
  }
}
