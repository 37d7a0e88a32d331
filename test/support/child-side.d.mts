/** Tells the test that something happened. A bigint arrives as its decimal text. */
export declare function emit(event: string, data?: unknown): void;
/** Serves the functions by name until the test goes away; then the process ends. */
export declare function serve(functions: Record<string, (...args: never[]) => unknown>): void;
