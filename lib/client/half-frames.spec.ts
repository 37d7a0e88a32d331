import { Outcome, type ChannelAnswer, type ServerFrame } from '../rpc/index.js';
import { HalfFrames } from './half-frames.js';

const answer = (operation: number): ChannelAnswer => ({
  operation,
  outcome: Outcome.Released,
  token: '',
  fence: 0n,
  span: 1,
  error: undefined,
  report: undefined,
});

const frameOf = (firstMessage: number, count: number, more: Partial<ServerFrame> = {}): ServerFrame => ({
  welcome: undefined,
  received: 7,
  renewed: undefined,
  pages: [],
  firstMessage,
  answers: Array.from({ length: count }, (_, index) => answer(firstMessage + index)),
  ended: undefined,
  ...more,
});

describe('HalfFrames', () => {
  let read: ServerFrame[];
  let later: (() => void)[];
  let frames: HalfFrames;

  beforeEach(() => {
    read = [];
    later = [];
    frames = new HalfFrames(
      (frame) => void read.push(frame),
      (run) => later.push(run),
    );
  });

  const sizes = (): number[] => read.map(({ answers }) => answers.length);
  const turn = (): void => later.splice(0).forEach((run) => run());

  it('a large frame of a server that is idle is read in two turns, its answers in order and each once', () => {
    frames.take(frameOf(100, 65), true);
    expect(sizes()).toEqual([32]);
    turn();
    expect(sizes()).toEqual([32, 33]);
    expect(read[1]?.firstMessage).toBe(132);
    expect(read.flatMap(({ answers }) => answers.map(({ operation }) => operation))).toEqual(
      Array.from({ length: 65 }, (_, index) => 100 + index),
    );
  });

  it.each([
    ['a small one', 47, true],
    ['one of a server that works on something already', 200, false],
  ])('%s is read at once', (_, count, idle) => {
    frames.take(frameOf(1, count), idle);
    expect(sizes()).toEqual([count]);
    expect(later).toEqual([]);
  });

  it('what was left is read before the next frame, and not again in the next turn', () => {
    frames.take(frameOf(1, 64), true);
    frames.take(frameOf(65, 3), false);
    turn();
    expect(sizes()).toEqual([32, 32, 3]);
  });

  it('news of the session comes first, the end of the stream last', () => {
    const renewed = { number: 3, leaseMs: 1_000, error: undefined };
    const ended = { status: 410, code: 'SESSION_GONE', message: 'over', serverId: 's', protocolVersion: '1' };
    frames.take(frameOf(1, 64, { renewed, ended }), true);
    turn();
    expect(read.map((frame) => [frame.renewed, frame.ended])).toEqual([
      [renewed, undefined],
      [undefined, ended],
    ]);
  });

  it('nothing is read of a stream that has lost its place', () => {
    frames.take(frameOf(1, 64), true);
    frames.drop();
    turn();
    expect(sizes()).toEqual([32]);
  });

  it('a frame that ends the stream while its first half is read leaves no second half behind', () => {
    const dropping: HalfFrames = new HalfFrames(
      (frame) => {
        read.push(frame);
        dropping.drop();
      },
      (run) => later.push(run),
    );
    dropping.take(frameOf(1, 64), true);
    turn();
    expect(sizes()).toEqual([32]);
  });
});
