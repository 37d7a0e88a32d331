import { MAX_DURATION_MS, MAX_FENCE, quote } from '../core/index.js';
import { didYouMean } from './nearest.js';

/** One flag of a command: `--name value` or `--name=value`; one dash will do. */
export interface Flag<T> {
  /** What `--help` says about it. */
  readonly text: string;
  readonly fallback: T;
  /** How the default is written in `--help`. */
  readonly shown: string;
  /** @returns undefined for text that is no such value */
  read(text: string): T | undefined;
  /** What the text must be, for messages. */
  readonly rule: string;
}

export type Flags = Readonly<Record<string, Flag<unknown>>>;
export type ValuesOf<F extends Flags> = { readonly [N in keyof F]: F[N] extends Flag<infer T> ? T : never };

/** The command line is not understood. The message says which word, and what it must be. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function text(fallback: string, about: string): Flag<string> {
  const shown = fallback === '' ? 'none' : fallback;
  return { text: about, fallback, shown, read: (given) => given, rule: 'text' };
}

export function count(fallback: number, most: number, about: string): Flag<number> {
  return {
    text: about,
    fallback,
    shown: String(fallback),
    rule: `a whole number from 1 to ${most}`,
    read: (given) => (/^\d+$/.test(given) && +given >= 1 && +given <= most ? +given : undefined),
  };
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, '': 1 };

/** `15s`, `1.5s`, `500ms`, `2m`, or a number of milliseconds. */
export function duration(fallbackMs: number, about: string): Flag<number> {
  return {
    text: about,
    fallback: fallbackMs,
    shown: `${fallbackMs / 1_000}s`,
    rule: `a time from 1ms to ${MAX_DURATION_MS}ms, such as 15s or 500ms`,
    read: (given) => {
      const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|)$/.exec(given) ?? [];
      const ms = number === '' ? NaN : +number * (UNIT_MS[unit] ?? NaN);
      return Number.isInteger(ms) && ms >= 1 && ms <= MAX_DURATION_MS ? ms : undefined;
    },
  };
}

/** A fence in decimal; none unless given. */
export function fence(about: string): Flag<bigint | undefined> {
  return {
    text: about,
    fallback: undefined,
    shown: 'any',
    rule: `a whole number from 1 to ${MAX_FENCE}`,
    read: (given) => {
      const number = /^\d{1,19}$/.test(given) ? BigInt(given) : 0n;
      return number >= 1n && number <= MAX_FENCE ? number : undefined;
    },
  };
}

/** `--name` alone means true. */
export function choice(fallback: boolean, about: string): Flag<boolean> {
  return {
    text: about,
    fallback,
    shown: String(fallback),
    rule: 'true or false',
    read: (given) => (given === 'true' ? true : given === 'false' ? false : undefined),
  };
}

/** A command line with plain words among the flags; behind `--` all words are plain. */
export interface ParsedWords<F extends Flags> {
  readonly plain: readonly string[];
  readonly values: ValuesOf<F>;
}

/** @throws UsageError naming the word that is not understood. */
export function parseWords<F extends Flags>(flags: F, words: readonly string[]): ParsedWords<F> {
  const plain: string[] = [];
  return { values: parseFlags(flags, words, plain), plain };
}

/**
 * @param plain where words that are no flags go; left out: they are not understood.
 * @throws UsageError naming the word that is not understood.
 */
export function parseFlags<F extends Flags>(
  flags: F,
  words: readonly string[],
  plain?: string[],
): ValuesOf<F> {
  const values: Record<string, unknown> = {};
  for (const [name, flag] of Object.entries(flags)) values[name] = flag.fallback;
  const rest = [...words];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (plain !== undefined && word === '--') {
      plain.push(...rest.splice(0));
      break;
    }
    if (plain !== undefined && !/^-./.test(word)) {
      plain.push(word);
      continue;
    }
    const [, name = '', given] = /^--?([^=]+)(?:=(.*))?$/s.exec(word) ?? [];
    const flag = Object.hasOwn(flags, name) ? flags[name] : undefined;
    if (flag === undefined)
      throw new UsageError(`unknown word ${quote(word)}${didYouMean(name, Object.keys(flags))}`);
    values[name] = readValue(name, flag, given ?? nextValue(name, flag, rest));
  }
  return values as ValuesOf<F>;
}

function nextValue(name: string, flag: Flag<unknown>, rest: string[]): string {
  const isChoice = typeof flag.fallback === 'boolean';
  if (isChoice && (rest[0] === undefined || flag.read(rest[0]) === undefined)) return 'true';
  const next = rest.shift();
  if (next === undefined) throw new UsageError(`--${name} needs a value: ${flag.rule}`);
  return next;
}

function readValue(name: string, flag: Flag<unknown>, given: string): unknown {
  const value = flag.read(given);
  if (value === undefined) throw new UsageError(`--${name} must be ${flag.rule}, got ${quote(given)}`);
  return value;
}

/** One line for each flag. */
export function describeFlags(flags: Flags): string {
  const width = Math.max(...Object.keys(flags).map((name) => name.length));
  return Object.entries(flags)
    .map(([name, flag]) => `  --${name.padEnd(width)}  ${flag.text} (${flag.shown})`)
    .join('\n');
}
