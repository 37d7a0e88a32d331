import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ReadyMessage } from '../process/parent.js';

const READY_WITHIN_MS = 60_000;
/** A replica waits up to 10 s for running sections; then it is too late to be polite. */
const STOP_WITHIN_MS = 20_000;
const LOG_CHARACTERS = 4_000;

/** One process of the sample. It tells its address when it is ready, and ends when this process does. */
export class Child {
  private log = '';
  private expectedToEnd = false;
  private readonly ended: Promise<string>;

  private constructor(
    readonly name: string,
    private readonly process: ChildProcess,
  ) {
    const keep = (chunk: Buffer): void =>
      void (this.log = (this.log + chunk.toString()).slice(-LOG_CHARACTERS));
    process.stdout?.on('data', keep);
    process.stderr?.on('data', keep);
    this.ended = new Promise((resolve) => {
      // close, not exit: what it wrote last says why it ended
      process.once('close', (code, signal) => resolve(String(signal ?? code)));
      process.once('error', (error) => resolve(error.message));
    });
  }

  /** @param script below dist/sample-app. */
  static start(name: string, script: string, settings: Readonly<Record<string, string>>): Child {
    const file = fileURLToPath(new URL(`../${script}`, import.meta.url));
    const child = spawn(process.execPath, ['--enable-source-maps', file], {
      // a group of its own: Ctrl-C goes to this process alone, which then ends the others in order
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...process.env, NO_COLOR: '1', ...settings },
    });
    return new Child(name, child);
  }

  get pid(): number {
    return this.process.pid ?? 0;
  }

  get running(): boolean {
    return this.process.exitCode === null && this.process.signalCode === null;
  }

  /** Its address. @throws Error with the end of its output when it ended first, or took too long. */
  async ready(signal: AbortSignal): Promise<string> {
    const late = AbortSignal.timeout(READY_WITHIN_MS);
    const given = new Promise<string>((resolve, reject) => {
      this.process.once('message', (message) => resolve((message as ReadyMessage).ready));
      void this.ended.then((how) => reject(new Error(this.endedEarly(how))));
      late.addEventListener('abort', () =>
        reject(new Error(`${this.name} was not ready in time:\n${this.log}`)),
      );
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
    return given;
  }

  /** Calls `tell` when it ends without having been told to. */
  onUnexpectedEnd(tell: (error: Error) => void): void {
    void this.ended.then((how) => {
      if (!this.expectedToEnd) tell(new Error(`${this.name} ended by itself (${how}):\n${this.log}`));
    });
  }

  /** SIGSTOP: it does nothing any more, as in a long pause of the machine, and its connections stay open. */
  pause(): void {
    this.process.kill('SIGSTOP');
  }

  resume(): void {
    this.process.kill('SIGCONT');
  }

  /** SIGKILL: no chance to release anything. */
  async kill(): Promise<void> {
    this.expectedToEnd = true;
    this.process.kill('SIGKILL');
    await this.ended;
  }

  /** Asks it to end, and makes it end if it does not. */
  async stop(): Promise<void> {
    this.expectedToEnd = true;
    if (!this.running) return;
    const late = setTimeout(() => this.process.kill('SIGKILL'), STOP_WITHIN_MS);
    this.process.kill('SIGTERM');
    this.process.kill('SIGCONT');
    await this.ended;
    clearTimeout(late);
  }

  private endedEarly(how: string): string {
    if (this.log.includes('EADDRINUSE')) {
      return `${this.name}: the port is taken. Choose another with PORT=..., or leave PORT out for a free one.`;
    }
    return `${this.name} ended (${how}) before it was ready:\n${this.log}`;
  }
}
