import { FakeClock } from './fake-clock.js';

describe('the fake clock', () => {
  it('never goes back: of two advances under way at once the longer decides where it ends', async () => {
    const clock = new FakeClock();
    const startedAt = clock.monoMs();
    let nested: Promise<void> | undefined;
    clock.after(10, () => {
      nested = clock.advance(900);
    });
    await clock.advance(20);
    await nested;
    expect(clock.monoMs() - startedAt).toBe(910);
    await clock.advance(1);
    expect(clock.monoMs() - startedAt).toBe(911);
  });
});
