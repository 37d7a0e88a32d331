import { FakeClock } from '../core/index.js';
import { ReconnectingSubscription, type OpenSubscriber } from './reconnecting-subscription.js';

function setUp(): {
  clock: FakeClock;
  opened: Parameters<OpenSubscriber>[0][];
  closed: number[];
  heard: string[];
  subscription: ReconnectingSubscription;
} {
  const clock = new FakeClock();
  const opened: Parameters<OpenSubscriber>[0][] = [];
  const closed: number[] = [];
  const heard: string[] = [];
  const open: OpenSubscriber = (told) => {
    const at = opened.push(told) - 1;
    return { close: () => void closed.push(at) };
  };
  const listener = {
    up: () => void heard.push('up'),
    down: () => void heard.push('down'),
    message: (text: string) => void heard.push(text),
  };
  return { clock, opened, closed, heard, subscription: new ReconnectingSubscription(open, listener, clock) };
}

describe('a subscription', () => {
  it('whose subscriber ends for good gets another, after pauses that grow', async () => {
    const { clock, opened, closed, heard } = setUp();
    opened[0]!.up();
    opened[0]!.message('a');
    opened[0]!.ended(new Error('gone'));
    expect(heard).toEqual(['up', 'a', 'down']);
    expect(closed).toEqual([0]);
    await clock.advance(99);
    expect(opened).toHaveLength(1);
    await clock.advance(1);
    opened[1]!.ended(new Error('gone'));
    await clock.advance(199);
    expect(opened).toHaveLength(2);
    await clock.advance(1);
    expect(opened).toHaveLength(3);
  });

  it('hears nothing of an earlier subscriber', async () => {
    const { clock, opened, heard } = setUp();
    opened[0]!.ended(new Error('gone'));
    await clock.advance(100);
    opened[0]!.message('late');
    opened[0]!.ended(new Error('again'));
    opened[1]!.up();
    expect(heard).toEqual(['down', 'up']);
    await clock.advance(10_000);
    expect(opened).toHaveLength(2);
  });

  it('that was closed closes its subscriber and makes no other', async () => {
    const { clock, opened, closed, heard, subscription } = setUp();
    subscription[Symbol.dispose]();
    opened[0]!.message('late');
    opened[0]!.ended(new Error('gone'));
    await clock.advance(10_000);
    expect([opened.length, closed, heard, clock.timers]).toEqual([1, [0], [], 0]);
  });
});
