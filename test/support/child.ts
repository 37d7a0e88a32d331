import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { OwnedProcess, type Ended } from './owned-process.js';

export interface ChildOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface ChildEvent {
  readonly event: string;
  readonly data: unknown;
  /** `performance.now()` of the test process when the line was read. */
  readonly at: number;
}

interface Call {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

type Line =
  | { readonly event: string; readonly data?: unknown }
  | { readonly id: number; readonly result?: unknown }
  | { readonly id: number; readonly error: { readonly message: string; readonly code?: string } };

const ANSWER_WITHIN_MS = 30_000;

/**
 * A Node process of its own running a script against dist/, which talks to the test in lines of JSON: the script
 * uses test/support/child-side.mjs. Killed, stopped and continued by real signals.
 */
export class Child {
  /** Every event so far, oldest first. */
  readonly events: ChildEvent[] = [];
  private readonly calls = new Map<number, Call>();
  private readonly watchers = new Set<() => void>();
  private lastId = 0;

  private constructor(readonly process: OwnedProcess) {
    createInterface({ input: process.stdout }).on('line', (line) => this.read(line));
    process.stdin.on('error', () => undefined);
    void process.ended.then(({ code, signal }) => this.fail(`the child ended with ${signal ?? code}`));
  }

  /** Starts `script` (path from the repository's root) and waits until it says that it serves. */
  static async start(script: string, { args = [], env = {} }: ChildOptions = {}): Promise<Child> {
    const root = process.cwd();
    if (!existsSync(join(root, 'dist/esm/index.js')))
      throw new Error('dist/ is not built: run `npm run build`');
    // Jest's own flags are not for the child
    const { NODE_OPTIONS: _, ...inherited } = process.env;
    const owned = OwnedProcess.start(process.execPath, [join(root, script), ...args], {
      cwd: root,
      env: { ...inherited, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const child = new Child(owned);
    await child.event('serving');
    return child;
  }

  get pid(): number {
    return this.process.pid;
  }

  get ended(): Promise<Ended> {
    return this.process.ended;
  }

  /** Calls a function the script serves. Rejects with its error (message and code), or when the child ends. */
  call<T = unknown>(name: string, ...args: readonly unknown[]): Promise<T> {
    const id = (this.lastId += 1);
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => settle(() => reject(this.late(`answer to ${name}`))), ANSWER_WITHIN_MS);
      const settle = (end: () => void): void => {
        clearTimeout(timer);
        this.calls.delete(id);
        end();
      };
      if (!this.process.running) return settle(() => reject(new Error('the child has ended')));
      this.calls.set(id, {
        resolve: (result) => settle(() => resolve(result as T)),
        reject: (error) => settle(() => reject(error)),
      });
      this.process.stdin.write(`${JSON.stringify({ id, name, args })}\n`);
    });
  }

  /** The first event of this name that `matches`, past or to come. */
  event(
    name: string,
    matches: (data: unknown) => boolean = () => true,
    timeoutMs = ANSWER_WITHIN_MS,
  ): Promise<ChildEvent> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => settle(() => reject(this.late(`event ${name}`))), timeoutMs);
      const settle = (end: () => void): void => {
        clearTimeout(timer);
        this.watchers.delete(look);
        end();
      };
      const look = (): void => {
        const found = this.events.find(({ event, data }) => event === name && matches(data));
        if (found) settle(() => resolve(found));
        else if (!this.process.running)
          settle(() => reject(new Error(`the child ended:\n${this.process.log}`)));
      };
      this.watchers.add(look);
      look();
    });
  }

  /** SIGKILL unless said otherwise; resolves when the process has ended. */
  kill(signal?: NodeJS.Signals): Promise<Ended> {
    return this.process.kill(signal);
  }

  /** SIGSTOP. */
  pause(): void {
    this.process.pause();
  }

  /** SIGCONT. */
  resume(): void {
    this.process.resume();
  }

  private read(text: string): void {
    const line = parse(text);
    if (!line) return;
    if ('event' in line) this.events.push({ event: line.event, data: line.data, at: performance.now() });
    else if ('error' in line)
      this.calls.get(line.id)?.reject(Object.assign(new Error(line.error.message), line.error));
    else this.calls.get(line.id)?.resolve(line.result);
    for (const look of [...this.watchers]) look();
  }

  private fail(why: string): void {
    for (const call of [...this.calls.values()]) call.reject(new Error(`${why}:\n${this.process.log}`));
    for (const look of [...this.watchers]) look();
  }

  private late(what: string): Error {
    return new Error(`no ${what} in time:\n${this.process.log}`);
  }
}

/** Undefined for what is no line of ours, such as something a library printed. */
function parse(text: string): Line | undefined {
  try {
    const line: unknown = JSON.parse(text);
    return typeof line === 'object' && line !== null ? (line as Line) : undefined;
  } catch {
    return undefined;
  }
}
