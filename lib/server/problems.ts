import { InvalidOptionError, MAX_DURATION_MS, quote } from '../core/index.js';

/** Collects all that is wrong with some settings, so that one error can name everything at once. */
export class Problems {
  private readonly found: { readonly option: string; readonly value: unknown; readonly text: string }[] = [];

  /** @param nameOf what people call a setting: the variable it came from, say. */
  constructor(private readonly nameOf: (option: string) => string = (option) => option) {}

  /** What people call a setting. */
  name(option: string): string {
    return this.nameOf(option);
  }

  get count(): number {
    return this.found.length;
  }

  add(option: string, rule: string, value: unknown): void {
    const name = this.name(option);
    this.found.push({ option: name, value, text: `${name} must be ${rule}, got ${quote(value)}` });
  }

  integer(option: string, value: unknown, min: number, max = MAX_DURATION_MS): number {
    if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max)
      return value as number;
    this.add(option, `a whole number from ${min} to ${max}`, value);
    return min;
  }

  boolean(option: string, value: unknown): boolean {
    if (typeof value === 'boolean') return value;
    this.add(option, 'true or false', value);
    return false;
  }

  text(option: string, value: unknown): string {
    if (typeof value === 'string' && value.trim() !== '') return value;
    this.add(option, 'a text that is not empty', value);
    return '';
  }

  oneOf<const T extends string>(option: string, value: unknown, allowed: readonly T[]): T {
    if (allowed.includes(value as T)) return value as T;
    this.add(option, `one of ${allowed.join(', ')}`, value);
    return allowed[0]!;
  }

  unknown(what: string, settings: object, known: readonly string[]): void {
    for (const [name, value] of Object.entries(settings)) {
      if (!known.includes(name))
        this.add(`${what}.${name}`, `left out: it is none of ${known.join(', ')}`, value);
    }
  }

  /** @throws InvalidOptionError naming every problem; its `option` and `value` are the first one's. */
  throwIfAny(what: string): void {
    const [first] = this.found;
    if (first === undefined) return;
    const list = this.found.map(({ text }) => text).join('; ');
    const count = this.found.length === 1 ? 'a setting is' : `${this.found.length} settings are`;
    throw new InvalidOptionError(`${what}: ${count} wrong: ${list}`, {
      option: first.option,
      value: first.value,
    });
  }
}
