import { Emitter } from './emitter.js';
import type { LockEvent } from './lock-events.js';

const AVAILABLE: LockEvent = { type: 'store.available' };

/** An async function, where TypeScript lets it pass for one that returns nothing. */
const rejecting = (async (): Promise<void> => {
  await Promise.resolve();
  throw new Error('rejected');
}) as () => void;

describe('a listener', () => {
  it('[L-46] [B-015] that throws, or whose promise rejects, is told of as a warning and disturbs nobody', async () => {
    const emitter = new Emitter();
    const heard: unknown[] = [];
    emitter.on('warning', ({ code, cause }) => void heard.push([code, cause]));
    emitter.on('store.available', () => {
      throw new Error('thrown');
    });
    emitter.on('store.available', rejecting);
    emitter.on('store.available', () => void heard.push('the last'));
    emitter.emit(AVAILABLE);
    await new Promise((resolve) => setImmediate(resolve));
    expect(heard).toEqual([
      ['LISTENER_FAILED', new Error('thrown')],
      'the last',
      ['LISTENER_FAILED', new Error('rejected')],
    ]);
  });

  it('[L-46] [B-015] of warnings that fails is told to nobody, and ends nothing', async () => {
    const emitter = new Emitter();
    const rejections: unknown[] = [];
    const hear = (reason: unknown): void => void rejections.push(reason);
    process.on('unhandledRejection', hear);
    emitter.on('warning', rejecting);
    emitter.emit({ type: 'warning', code: 'A', message: 'b' });
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', hear);
    expect(rejections).toEqual([]);
  });
});
