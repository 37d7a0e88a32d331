/** `waiters` callers at once that share `pairs` among them, each doing its part with `alone`. */
export function together(alone: (pairs: number) => Promise<void>) {
  return async (pairs: number, waiters: number): Promise<void> => {
    await Promise.all(Array.from({ length: waiters }, () => alone(pairs / waiters)));
  };
}
