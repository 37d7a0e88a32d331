import { Logger } from '@nestjs/common';
import { FakeClock } from '../core/index.js';
import { noticeMissingHooks } from './shutdown-notice.js';

class Listening extends Logger {
  readonly lines: string[] = [];
  override warn(line: string): void {
    this.lines.push(line);
  }
}

async function linesAfter(ms: number, counts: Partial<Record<string, number>>): Promise<string[]> {
  const clock = new FakeClock();
  const logger = new Listening();
  noticeMissingHooks(clock, logger, (signal) => counts[signal] ?? 0);
  await clock.advance(ms);
  return logger.lines;
}

describe('an application that no signal would close', () => {
  it('[B-066] is told once, a second after its start', async () => {
    expect(await linesAfter(999, {})).toEqual([]);
    expect(await linesAfter(60_000, {})).toEqual([expect.stringContaining('enableShutdownHooks()')]);
  });

  it('[B-066] is told nothing when anybody listens, or when it was closed before', async () => {
    expect(await linesAfter(60_000, { SIGTERM: 1 })).toEqual([]);
    expect(await linesAfter(60_000, { SIGINT: 1 })).toEqual([]);
    const clock = new FakeClock();
    const logger = new Listening();
    noticeMissingHooks(clock, logger, () => 0).cancel();
    await clock.advance(60_000);
    expect(logger.lines).toEqual([]);
  });
});
