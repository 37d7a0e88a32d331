import { FakeClock } from '../core/fake-clock.js';
import type { Grant } from '../engine/index.js';
import { Deliveries } from './deliveries.js';
import { OpenCall } from './open-call.js';

describe('answers of grants', () => {
  const grant = { sessionId: 's', requestId: 'r', token: 't', fence: 1n } as unknown as Grant;
  let clock: FakeClock;
  let given: Grant[];
  let deliveries: Deliveries;

  beforeEach(() => {
    clock = new FakeClock();
    given = [];
    deliveries = new Deliveries(clock, (one) => given.push(one));
  });

  const call = (): OpenCall => {
    const open = new OpenCall('m', 'p', 0);
    deliveries.answering(grant, open);
    return open;
  };
  const end = (open: OpenCall, written: boolean): void => {
    open.written = written;
    open.close();
  };

  it('[B-029] a grant whose answer could not be written is given back within a second', async () => {
    end(call(), false);
    await clock.advance(499);
    expect(given).toEqual([]);
    await clock.advance(1);
    expect(given).toEqual([grant]);
    expect(deliveries.open).toBe(0);
  });

  it('a grant whose answer was written stays', async () => {
    end(call(), true);
    await clock.advance(10_000);
    expect([given, deliveries.open]).toEqual([[], 0]);
  });

  it('[K-089] a repeat of the request keeps the grant', async () => {
    end(call(), false);
    await clock.advance(400);
    const repeat = call();
    await clock.advance(10_000);
    end(repeat, true);
    await clock.advance(10_000);
    expect([given, deliveries.open]).toEqual([[], 0]);
  });

  it('a repeat that fails too starts the moment anew', async () => {
    end(call(), false);
    await clock.advance(400);
    end(call(), false);
    await clock.advance(499);
    expect(given).toEqual([]);
    await clock.advance(1);
    expect(given).toEqual([grant]);
  });

  it('of two calls one is enough, whichever ends first', async () => {
    for (const order of [
      [true, false],
      [false, true],
    ]) {
      const calls = [call(), call()];
      calls.forEach((open, index) => end(open, order[index]!));
      await clock.advance(10_000);
      expect(given).toEqual([]);
    }
  });

  it('a later answer that fails takes nothing back that was delivered before', async () => {
    end(call(), true);
    end(call(), false);
    await clock.advance(10_000);
    expect(given).toEqual([]);
  });
});
