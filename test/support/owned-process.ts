import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { forgetPid, reapPid } from './reaper.js';

const LOG_CHARACTERS = 20_000;

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A real process started by a test. It is killed when the test process ends, whatever way that happens. */
export class OwnedProcess {
  /** The end of what it wrote to its standard output and error. */
  log = '';
  readonly ended: Promise<Ended>;
  private end: Ended | undefined;

  private constructor(
    private readonly child: ChildProcess,
    readonly name: string,
  ) {
    const keep = (chunk: Buffer): void => {
      this.log = (this.log + chunk.toString()).slice(-LOG_CHARACTERS);
    };
    if (child.pid !== undefined) reapPid(child.pid);
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    this.ended = new Promise((resolve) => {
      const settle = (end: Ended): void => {
        this.end = end;
        if (child.pid !== undefined) forgetPid(child.pid);
        resolve(end);
      };
      child.once('exit', (code, signal) => settle({ code, signal }));
      child.once('error', (error) => {
        this.log += String(error);
        settle({ code: null, signal: null });
      });
    });
  }

  static start(command: string, args: readonly string[], options: SpawnOptions = {}): OwnedProcess {
    const stdio = options.stdio ?? ['ignore', 'pipe', 'pipe'];
    return new OwnedProcess(spawn(command, args, { ...options, stdio }), command);
  }

  get pid(): number {
    if (this.child.pid === undefined) throw new Error(`${this.name} did not start: ${this.log}`);
    return this.child.pid;
  }

  get stdin(): NodeJS.WritableStream {
    return this.child.stdin!;
  }

  get stdout(): NodeJS.ReadableStream {
    return this.child.stdout!;
  }

  get running(): boolean {
    return this.end === undefined;
  }

  /** Resolves when `probe` says true; rejects with the log when the process ended or 20 s are over. */
  async ready(probe: () => Promise<boolean>, timeoutMs = 20_000): Promise<void> {
    const until = Date.now() + timeoutMs;
    while (this.running && Date.now() < until) {
      if (await probe().catch(() => false)) return;
      await sleep(10);
    }
    const why = this.running ? `was not ready after ${timeoutMs} ms` : 'ended before it was ready';
    throw new Error(`${this.name} ${why}:\n${this.log}`);
  }

  /** Sends the signal to the process and its children, and waits for the process to end. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<Ended> {
    if (signal === 'SIGKILL') this.signalTree(signal);
    else this.signal(signal);
    return this.ended;
  }

  /** Sends the signal to the process alone and waits for nothing. */
  signal(signal: NodeJS.Signals): void {
    if (this.running) this.child.kill(signal);
  }

  /** SIGSTOP: from now on the process and its children do nothing, and their connections stay open. */
  pause(): void {
    this.signalTree('SIGSTOP');
  }

  /** SIGCONT. */
  resume(): void {
    this.signalTree('SIGCONT');
  }

  private signalTree(signal: NodeJS.Signals): void {
    if (!this.running) return;
    const children = childrenOf(this.pid);
    this.child.kill(signal);
    for (const pid of children) signalIfThere(pid, signal);
  }
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // ended in between
  }
}

/** Direct children by /proc; none where there is no /proc. PostgreSQL's each lead a process group of their own. */
function childrenOf(parent: number): number[] {
  const pids = readdirOrNothing('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => parentOf(pid) === parent);
}

function readdirOrNothing(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // "pid (name) state ppid ...": the name may hold anything, so look behind the last bracket
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined;
  }
}
