type Callable = (...args: never[]) => unknown;

interface Call {
  readonly id: number;
  readonly name: string;
  readonly args: never[];
}

/** Serves functions to the process that started this one, and ends with it. */
export function serve(functions: Readonly<Record<string, Callable>>): void {
  process.on('message', (call: Call) => void answer(functions, call));
  process.on('disconnect', () => process.exit(0));
}

async function answer(
  functions: Readonly<Record<string, Callable>>,
  { id, name, args }: Call,
): Promise<void> {
  try {
    const called = functions[name];
    if (called === undefined) throw new Error(`this process serves no function ${name}`);
    process.send?.({ id, result: await called(...args) });
  } catch (error) {
    process.send?.({ id, error: error instanceof Error ? error.message : String(error) });
  }
}

/** CPU time of this process so far, in milliseconds. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Bytes of the heap after a full collection; the process must run with --expose-gc. */
export function heapBytes(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Resident bytes of the whole process after a full collection. */
export function residentBytes(): number {
  collect();
  return process.memoryUsage.rss();
}

function collect(): void {
  // twice: what a first one finalizes is freed by the second
  globalThis.gc?.();
  globalThis.gc?.();
}
