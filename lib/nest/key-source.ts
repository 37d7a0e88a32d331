import type { KeyInput, LockKey } from '../core/index.js';
import { InvalidKeyError, InvalidOptionError, isLockError, parseKey, quote } from '../core/index.js';
import { parseTemplate } from './key-template.js';

/** Builds the key of a call from its arguments, or throws InvalidKeyError. */
export type KeyOf = (args: readonly unknown[]) => LockKey;

type KeyFunction = (...args: unknown[]) => unknown;

/**
 * Reads the key arguments of `@Locked` and its like: a function, or one or two templates, with the options behind them.
 * @throws InvalidKeyError, InvalidOptionError naming the method.
 */
export function readArguments(
  args: readonly unknown[],
  where: string,
  decorator = '@Locked',
): { readonly keyOf: KeyOf; readonly options: unknown } {
  const [first, second, third] = args;
  const hasL2 = typeof second === 'string';
  const options = hasL2 ? third : second;
  const surplus = args.length - (hasL2 ? 3 : 2);
  if (surplus > 0) {
    throw new InvalidOptionError(
      `${decorator} on ${where} takes a key function, or one or two key templates, then options`,
      {
        option: 'options',
        value: args[args.length - 1],
      },
    );
  }
  if (typeof first === 'function' && !hasL2)
    return { keyOf: fromFunction(first as KeyFunction, where), options };
  return { keyOf: fromTemplates(hasL2 ? [first, second] : [first], where), options };
}

function fromTemplates([first, second]: readonly unknown[], where: string): KeyOf {
  const l1 = parseTemplate(first, where);
  if (second === undefined) return (args) => parse(l1(args), where);
  const l2 = parseTemplate(second, where);
  return (args) => parse([l1(args), l2(args)], where);
}

function fromFunction(key: KeyFunction, where: string): KeyOf {
  if (Object.prototype.toString.call(key) === '[object AsyncFunction]') {
    throw new InvalidKeyError(`the key function of ${where} is async; key functions are synchronous`, {
      value: key,
    });
  }
  return (args) => {
    const made = key(...args);
    const segments: readonly unknown[] = Array.isArray(made) ? made : [made];
    if (segments.length > 0 && segments.every(isText)) {
      refuseUnresolved(segments as readonly string[], where);
      return parse(made as KeyInput, where);
    }
    const hint = isPromise(made) ? '; key functions are synchronous' : '';
    throw new InvalidKeyError(
      `the key function of ${where} returned ${quote(made)}, which is no key${hint}`,
      {
        code: 'KEY_UNRESOLVED',
        value: made,
      },
    );
  };
}

function isText(segment: unknown): boolean {
  return typeof segment === 'string' && segment !== '';
}

/** What JavaScript writes for a value that was not there, as a whole part of a key: never what somebody wants to lock. */
const UNRESOLVED = /(?:^|[:/])(undefined|null|NaN|\[object [^\]]*\])(?=$|[:/])/;

function refuseUnresolved(segments: readonly string[], where: string): void {
  for (const segment of segments) {
    const part = UNRESOLVED.exec(segment)?.[1];
    if (part === undefined) continue;
    throw new InvalidKeyError(
      `the key function of ${where} returned ${quote(segment)}, in which ${quote(part)} stands for a value that was not there`,
      { code: 'KEY_UNRESOLVED', value: segment },
    );
  }
}

function isPromise(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('then' in value)) return false;
  // A key function that was async by mistake may also fail: its rejection has no other reader.
  Promise.resolve(value).catch(() => undefined);
  return true;
}

function parse(key: KeyInput, where: string): LockKey {
  try {
    return parseKey(key);
  } catch (error) {
    if (!isLockError(error, 'INVALID_KEY')) throw error;
    throw new InvalidKeyError(`${where}: ${error.message}`, { value: (error as InvalidKeyError).value });
  }
}
