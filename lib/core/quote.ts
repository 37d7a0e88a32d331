import { MAX_QUOTED_CHARACTERS } from './limits.js';

/**
 * A value as error messages show it: ASCII only, at most 80 characters, strings in quotes.
 * ASCII because the text may travel in a gRPC status or an HTTP header, where other characters are refused.
 */
export function quote(value: unknown): string {
  const text = escapeNonAscii(describe(value));
  return text.length <= MAX_QUOTED_CHARACTERS ? text : `${text.slice(0, MAX_QUOTED_CHARACTERS)}...`;
}

function describe(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value.slice(0, MAX_QUOTED_CHARACTERS + 1));
    case 'bigint':
      return `${value}n`;
    case 'function':
      return `a function`;
    case 'object':
      return describeObject(value);
    default:
      return String(value);
  }
}

function describeObject(value: object | null): string {
  if (value === null) return 'null';
  if (value instanceof Date) return `Date ${String(value.getTime())}`;
  if (Array.isArray(value))
    return `[${value.slice(0, 4).map(describe).join(', ')}${value.length > 4 ? ', ...' : ''}]`;
  return `an object (${value.constructor?.name ?? 'no prototype'})`;
}

function escapeNonAscii(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, escapeUnit);
}

/** A whole message made ASCII, lines kept: names of clients, methods and files in it may be anything. */
export function asciiText(text: string): string {
  return /[^\n\x20-\x7e]/.test(text) ? text.replace(/[^\n\x20-\x7e]/g, escapeUnit) : text;
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
