import { InvalidKeyError, escapeKeyPart, keyPartText, parseKey, quote } from '../core/index.js';

/** Builds one key segment from the arguments of a call. */
export type SegmentOf = (args: readonly unknown[]) => string;

interface Path {
  /** For messages. */
  readonly place: string;
  readonly index: number;
  readonly names: readonly string[];
}

const BRACES = /\{([^{}]*)\}/gu;
const PATH = /^(0|[1-9]\d{0,2})((?:\.[\p{L}\p{N}_$-]+)*)$/u;

/**
 * Reads a template such as `invoice:{0.id}`: a number is the argument's position, the rest a path into it.
 * Interpolated values are escaped, literal text stays. Names of parameters do not exist at run time, so `{id}` cannot work.
 * @param where the method, for messages.
 * @throws InvalidKeyError for anything else in braces, a single brace, or a text that can never be a key.
 */
export function parseTemplate(template: unknown, where: string): SegmentOf {
  if (typeof template !== 'string') throw malformed(template, where, 'is not a string');
  const literals: string[] = [];
  const paths: Path[] = [];
  let end = 0;
  for (const match of template.matchAll(BRACES)) {
    literals.push(template.slice(end, match.index));
    paths.push(parsePath(match[1] ?? '', template, where));
    end = match.index + match[0].length;
  }
  literals.push(template.slice(end));
  checkLiterals(literals, paths, template, where);
  return (args) => fill(literals, paths, args);
}

function parsePath(text: string, template: string, where: string): Path {
  const match = PATH.exec(text);
  if (match === null) {
    throw malformed(
      template,
      where,
      `holds {${text}}, which is no position of an argument with a path, such as {0} or {0.id}`,
    );
  }
  return {
    place: `{${text}} of ${where}`,
    index: Number(match[1]),
    names: (match[2] ?? '').split('.').slice(1),
  };
}

function checkLiterals(
  literals: readonly string[],
  paths: readonly Path[],
  template: string,
  where: string,
): void {
  if (literals.some((literal) => /[{}]/.test(literal))) {
    throw malformed(template, where, 'holds a single brace; use a key function for keys with braces');
  }
  // What cannot become a key whatever the arguments are is refused now, not at the first call.
  const shortest = literals.join(paths.length > 0 ? 'x' : '');
  try {
    parseKey(shortest);
  } catch (error) {
    throw malformed(template, where, 'can never be a key', error);
  }
}

function fill(literals: readonly string[], paths: readonly Path[], args: readonly unknown[]): string {
  let segment = literals[0] ?? '';
  paths.forEach((path, position) => {
    segment += escapeKeyPart(keyPartText(valueAt(path, args), path.place)) + (literals[position + 1] ?? '');
  });
  return segment;
}

function valueAt(path: Path, args: readonly unknown[]): unknown {
  let value = args[path.index];
  for (const name of path.names) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}

function malformed(template: unknown, where: string, problem: string, cause?: unknown): InvalidKeyError {
  return new InvalidKeyError(`key template ${quote(template)} of ${where} ${problem}`, {
    value: template,
    cause,
  });
}
