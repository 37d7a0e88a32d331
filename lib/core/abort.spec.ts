import { getEventListeners } from 'node:events';
import { onAbort } from './abort.js';

describe('many waits on one signal', () => {
  it('share one listener, are told in order, and leave nothing behind', () => {
    const controller = new AbortController();
    const { signal } = controller;
    const told: number[] = [];
    const waits = Array.from({ length: 100 }, (_, index) => onAbort(signal, () => told.push(index)));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    for (const wait of waits.slice(3)) wait[Symbol.dispose]();
    controller.abort();
    expect(told).toEqual([0, 1, 2]);
    for (const wait of waits) wait[Symbol.dispose]();
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('the last to go takes the listener off a signal that lives on, and the next puts it back', () => {
    const { signal } = new AbortController();
    for (let round = 0; round < 3; round++) {
      const waits = [onAbort(signal, () => undefined), onAbort(signal, () => undefined)];
      expect(getEventListeners(signal, 'abort')).toHaveLength(1);
      for (const wait of waits) {
        wait[Symbol.dispose]();
        wait[Symbol.dispose]();
      }
      expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    }
  });

  it('one that is taken back by the abort of another is not told', () => {
    const controller = new AbortController();
    const told: string[] = [];
    onAbort(controller.signal, () => {
      told.push('first');
      second[Symbol.dispose]();
    });
    const second = onAbort(controller.signal, () => told.push('second'));
    onAbort(controller.signal, () => told.push('third'));
    controller.abort();
    expect(told).toEqual(['first', 'third']);
  });

  it('one that comes after the abort is told at once, with the reason', () => {
    const reasons: unknown[] = [];
    onAbort(AbortSignal.abort('why'), (reason) => reasons.push(reason));
    expect(reasons).toEqual(['why']);
  });
});
