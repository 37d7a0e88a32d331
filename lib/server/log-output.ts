import type { Clock } from '../core/index.js';
import { LogFile } from './log-file.js';
import { logLine } from './log-line.js';
import type { LogSettings } from './log-settings.js';
import { atLeast, type LogFacts, type LogLevel, type ServerLog } from './server-log.js';

/** The built-in log: to stdout, stderr or a file, with an optional copy on stdout for people. */
export class LogOutput implements ServerLog {
  private constructor(
    private readonly settings: Required<LogSettings>,
    private readonly clock: Clock,
    private readonly file: LogFile | undefined,
  ) {}

  /** @throws the file system's error where the file cannot be opened. */
  static async open(settings: Required<LogSettings>, clock: Clock): Promise<LogOutput> {
    const { output, console } = settings;
    const toFile = output !== 'stdout' && output !== 'stderr';
    if (!toFile) outlive(process[output]);
    else if (console) outlive(process.stdout);
    return new LogOutput(settings, clock, toFile ? await LogFile.open(settings, clock) : undefined);
  }

  enabled(level: LogLevel): boolean {
    return atLeast(level, this.settings.level);
  }

  write(level: LogLevel, event: string, facts: LogFacts = {}): void {
    if (!this.enabled(level)) return;
    const wallMs = this.clock.wallMs();
    const line = logLine(this.settings.format, wallMs, level, event, facts);
    if (this.file === undefined) return void process[this.settings.output as 'stdout' | 'stderr'].write(line);
    this.file.write(line);
    if (this.settings.console) process.stdout.write(logLine('console', wallMs, level, event, facts));
  }

  /** Writes what is still queued. */
  async close(): Promise<void> {
    await this.file?.close();
  }
}

/** A reader that went away or a full disk costs log lines, not the locks: unheard, the error would end the process. */
function outlive(stream: NodeJS.WriteStream): void {
  if (!stream.listeners('error').includes(ignore)) stream.on('error', ignore);
}

function ignore(): void {
  // Nobody is left to tell.
}
