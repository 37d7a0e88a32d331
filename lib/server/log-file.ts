import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Clock } from '../core/index.js';
import type { LogSettings } from './log-settings.js';
import { MAX_UNWRITTEN_LOG_BYTES } from './server-limits.js';

type FileSettings = Required<
  Pick<LogSettings, 'output' | 'maxSizeMb' | 'maxBackups' | 'maxAgeDays' | 'compress'>
>;

const DAY_MS = 86_400_000;

/** A log file that is begun anew at a size. Lines are written one batch at a time; `write` never waits. */
export class LogFile {
  private queue: string[] = [];
  private queuedBytes = 0;
  private droppedLines = 0;
  private size = 0;
  private working: Promise<void> | undefined = undefined;

  private constructor(
    private readonly settings: FileSettings,
    private readonly clock: Clock,
    private file: FileHandle,
    private readonly maxBytes: number,
  ) {}

  /** Makes the folder and opens the file for appending. @throws the file system's error. */
  static async open(
    settings: FileSettings,
    clock: Clock,
    maxBytes = settings.maxSizeMb * 1_048_576,
  ): Promise<LogFile> {
    await mkdir(dirname(settings.output), { recursive: true });
    const file = await open(settings.output, 'a');
    const log = new LogFile(settings, clock, file, maxBytes);
    log.size = (await file.stat()).size;
    return log;
  }

  /** Lines dropped since the disk could not keep up. */
  get dropped(): number {
    return this.droppedLines;
  }

  write(line: string): void {
    if (this.queuedBytes + line.length > MAX_UNWRITTEN_LOG_BYTES) {
      this.droppedLines += 1;
      return;
    }
    this.queue.push(line);
    this.queuedBytes += line.length;
    this.working ??= this.work();
  }

  /** Writes what is queued and closes the file. */
  async close(): Promise<void> {
    while (this.working !== undefined) await this.working;
    await this.file.close().catch(() => undefined);
  }

  private async work(): Promise<void> {
    // Begins in a later turn, so that `working` is set before it can be cleared.
    await Promise.resolve();
    while (this.queue.length > 0) {
      const batch = Buffer.from(this.queue.join(''), 'utf8');
      this.queue = [];
      this.queuedBytes = 0;
      await this.append(batch).catch(() => void (this.droppedLines += 1));
    }
    this.working = undefined;
  }

  private async append(batch: Buffer): Promise<void> {
    if (this.size > 0 && this.size + batch.length > this.maxBytes) await this.rotate();
    await this.file.appendFile(batch);
    this.size += batch.length;
  }

  private async rotate(): Promise<void> {
    await this.file.close();
    const stamp = new Date(this.clock.wallMs()).toISOString().replace(/[:.]/g, '-');
    const old = await this.freeName(`${this.settings.output}.${stamp}`);
    await rename(this.settings.output, old);
    this.file = await open(this.settings.output, 'a');
    this.size = 0;
    if (this.settings.compress) await compress(old);
    await this.prune();
  }

  private async freeName(wanted: string): Promise<string> {
    for (let number = 0; ; number++) {
      const name = number === 0 ? wanted : `${wanted}.${number}`;
      const taken = await Promise.all([name, `${name}.gz`].map((path) => stat(path).catch(() => undefined)));
      if (taken.every((found) => found === undefined)) return name;
    }
  }

  private async prune(): Promise<void> {
    const folder = dirname(this.settings.output);
    const prefix = `${basename(this.settings.output)}.`;
    const names = (await readdir(folder))
      .filter((name) => name.startsWith(prefix))
      .sort()
      .reverse();
    const oldest = this.clock.wallMs() - this.settings.maxAgeDays * DAY_MS;
    for (const [index, name] of names.entries()) {
      const path = join(folder, name);
      const tooMany = this.settings.maxBackups > 0 && index >= this.settings.maxBackups;
      const tooOld = this.settings.maxAgeDays > 0 && (await stat(path)).mtimeMs < oldest;
      if (tooMany || tooOld) await rm(path, { force: true });
    }
  }
}

async function compress(path: string): Promise<void> {
  await pipeline(createReadStream(path), createGzip(), createWriteStream(`${path}.gz`));
  await rm(path);
}
