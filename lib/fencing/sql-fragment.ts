import { optionError } from '../core/index.js';

/** What a fragment binds: fences as bigint, so that no driver rounds them. */
export type SqlValue = string | number | bigint;

/**
 * A piece of SQL with values apart from the text, in the form each library wants. `strings` and `values` are those of a
 * template, so `Prisma.sql(fragment.strings, ...fragment.values)` and Kysely's `sql` take it as it is.
 */
export class SqlFragment {
  constructor(
    /** One more than there are values. */
    readonly strings: readonly string[],
    readonly values: readonly SqlValue[],
  ) {}

  /**
   * For pg and TypeORM's `query`: `$1`, `$2`.
   * @param first number of the first placeholder, where the fragment stands behind others.
   */
  numbered(first = 1): { readonly text: string; readonly values: SqlValue[] } {
    return { text: this.join((index) => `$${first + index}`), values: [...this.values] };
  }

  /** For Knex (`whereRaw(sql, bindings)`), mysql2 and better-sqlite3: `?`. */
  positional(): { readonly sql: string; readonly bindings: SqlValue[] } {
    return { sql: this.join(() => '?'), bindings: [...this.values] };
  }

  /** For TypeORM's query builders: `:fence_0`, `:fence_1`. */
  named(prefix = 'fence'): {
    readonly text: string;
    readonly parameters: Readonly<Record<string, SqlValue>>;
  } {
    if (!/^[A-Za-z]\w*$/.test(prefix)) throw optionError('prefix', 'letters, digits and _', prefix);
    const parameters = Object.fromEntries(this.values.map((value, index) => [`${prefix}_${index}`, value]));
    return { text: this.join((index) => `:${prefix}_${index}`), parameters };
  }

  private join(placeholder: (index: number) => string): string {
    return this.strings.reduce((text, next, index) => `${text}${placeholder(index - 1)}${next}`);
  }
}

const PART = String.raw`(?:[A-Za-z_]\w*|"[^"\0]+"|` + '`[^`\\0]+`)';
const NAME = new RegExp(`^${PART}(?:\\.${PART}){0,2}$`, 'u');
const LAST_PART = new RegExp(`${PART}$`, 'u');
const MAX_NAME_LENGTH = 200;

/**
 * A table or column name as it is put into the text, for it cannot be bound: plain or quoted parts joined by dots.
 * @throws InvalidOptionError for anything else.
 */
export function sqlName(option: string, name: unknown): string {
  if (typeof name === 'string' && name.length <= MAX_NAME_LENGTH && NAME.test(name)) return name;
  throw optionError(option, 'a name such as account.fence or "account"."fence"', name);
}

/** The column's own name, of a name that was checked. */
export function lastPart(name: string): string {
  return LAST_PART.exec(name)?.[0] ?? name;
}
