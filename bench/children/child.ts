import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

interface Pending {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

/** A process of the benchmark, called by messages. Ends when it is closed or this process ends. */
export class Child {
  private readonly calls = new Map<number, Pending>();
  private lastId = 0;
  private log = '';

  private constructor(
    private readonly child: ChildProcess,
    private readonly name: string,
  ) {
    child.on('message', (answer) => this.answered(answer as Answer));
    child.stderr?.on('data', (chunk: Buffer) => (this.log = (this.log + chunk.toString()).slice(-2_000)));
    child.on('exit', (code, signal) =>
      this.over(new Error(`${name} ended with ${signal ?? code}: ${this.log}`)),
    );
  }

  /** @param program path of the module below the folder of the benchmarks, such as `servers/echo.js` */
  static start(program: string, args: readonly string[] = [], nodeArgs: readonly string[] = []): Child {
    const path = fileURLToPath(new URL(`../${program}`, import.meta.url));
    const child = fork(path, [...args], {
      execArgv: [...nodeArgs],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      serialization: 'advanced',
    });
    return new Child(child, `${program} ${args.join(' ')}`.trim());
  }

  get pid(): number {
    return this.child.pid ?? -1;
  }

  /** Calls a function of the child. @throws Error of the child, or that it has ended. */
  call<T>(name: string, ...args: readonly unknown[]): Promise<T> {
    const id = ++this.lastId;
    return new Promise<T>((resolve, reject) => {
      this.calls.set(id, { resolve: (result) => resolve(result as T), reject });
      if (!this.child.connected) return this.over(new Error(`${this.name} has ended: ${this.log}`));
      this.child.send({ id, name, args });
    });
  }

  async close(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.kill('SIGKILL');
    await ended;
  }

  private answered({ id, result, error }: Answer): void {
    const call = this.calls.get(id);
    this.calls.delete(id);
    if (error === undefined) call?.resolve(result);
    else call?.reject(new Error(error));
  }

  private over(error: Error): void {
    for (const call of this.calls.values()) call.reject(error);
    this.calls.clear();
  }
}
