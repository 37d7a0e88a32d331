/** The seed of a randomised test, below `end`: KLOCK_SEED repeats an earlier choice. Whoever takes it prints it. */
export function chosenSeed(end = 2 ** 31): number {
  return Number(process.env.KLOCK_SEED ?? process.hrtime.bigint() % BigInt(end));
}
