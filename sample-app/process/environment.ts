type Environment = Readonly<Record<string, string | undefined>>;

/** A setting that must be there. @throws Error naming the variable. */
export function requiredText(env: Environment, name: string): string {
  const text = env[name]?.trim();
  if (text === undefined || text === '') throw new Error(`${name} must be set`);
  return text;
}

/** A whole number within bounds, `fallback` when the variable is not set. @throws Error naming the variable and its value. */
export function wholeNumber(
  env: Environment,
  name: string,
  { fallback, lowest, highest }: { fallback: number; lowest: number; highest: number },
): number {
  const text = env[name]?.trim();
  if (text === undefined || text === '') return fallback;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= lowest && value <= highest) return value;
  throw new Error(`${name} must be a whole number from ${lowest} to ${highest}, got "${text}"`);
}

/** Lease of the replicas' locks: short, so that nobody watching the demonstration has to wait long for a killed holder. */
export const ttlMsFrom = (env: Environment): number =>
  wholeNumber(env, 'KLOCK_TTL_MS', { fallback: 2_000, lowest: 500, highest: 10_000 });

/** Where a replica listens; 0 takes a free port. */
export const portFrom = (env: Environment): number =>
  wholeNumber(env, 'PORT', { fallback: 0, lowest: 0, highest: 65_534 });
