import type { ServerFrame } from '../rpc/index.js';

/** Smaller frames are read at once: two messages would cost more than is won. */
const SPLIT_FROM = 48;

/**
 * Reads the frames of a server. One that has received everything sent to it is idle until its frame is dealt with: of a
 * large frame the second half is left for the next turn, so that what comes of the first is under way meanwhile. From then
 * on two frames are, and both ends work at the same time.
 */
export class HalfFrames {
  private rest: ServerFrame | undefined = undefined;

  constructor(
    private readonly read: (frame: ServerFrame) => void,
    // eslint-disable-next-line no-restricted-globals -- a turn of the event loop, whatever the time
    private readonly nextTurn: (run: () => void) => unknown = setImmediate,
  ) {}

  /** @param serverIdle whether nothing is on its way to the server. */
  take(frame: ServerFrame, serverIdle: boolean): void {
    this.finish();
    if (!serverIdle || frame.answers.length < SPLIT_FROM) return this.read(frame);
    const half = frame.answers.length >> 1;
    this.rest = secondHalf(frame, half);
    this.nextTurn(this.finish);
    this.read({ ...frame, answers: frame.answers.slice(0, half), ended: undefined });
  }

  /** Reads what was left, before anything that came after it. */
  readonly finish = (): void => {
    const { rest } = this;
    this.rest = undefined;
    if (rest !== undefined) this.read(rest);
  };

  /** The stream has lost its place: what was left comes again on the next one. */
  drop(): void {
    this.rest = undefined;
  }
}

/** What is urgent was in the first half, the end of the stream comes last. */
function secondHalf({ received, firstMessage, answers, ended }: ServerFrame, half: number): ServerFrame {
  return {
    welcome: undefined,
    received,
    renewed: undefined,
    pages: [],
    firstMessage: firstMessage + half,
    answers: answers.slice(half),
    ended,
  };
}
