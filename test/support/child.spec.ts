import { Child } from './child.js';

describe('a child process of a test', () => {
  let child: Child;
  const quiet = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

  beforeEach(async () => {
    child = await Child.start('test/support/child-example.mjs');
  });

  afterEach(async () => {
    child.resume();
    await child.kill();
  });

  it('answers calls, with the built package loaded', async () => {
    expect(await child.call('add', 2, 3)).toBe(5);
    expect(await child.call('big')).toBe('1152921504606846976');
    expect(await child.call('loaded')).toBe('object');
  });

  it('hands over the error of a call with its code', async () => {
    await expect(child.call('fail')).rejects.toMatchObject({ message: 'told to', code: 'TOLD' });
    await expect(child.call('nothing')).rejects.toThrow('serves no function nothing');
  });

  it('says nothing while stopped and goes on when continued', async () => {
    await child.event('tick');
    child.pause();
    await quiet(50);
    const before = child.events.length;
    await quiet(100);
    expect(child.events.length).toBe(before);
    child.resume();
    const next = before + 1;
    await child.event('tick', (count) => (count as number) > next);
  });

  it('fails the open calls when it is killed', async () => {
    const open = child.call('never');
    const failure = expect(open).rejects.toThrow('the child ended with SIGKILL');
    await child.kill();
    await failure;
    await expect(child.ended).resolves.toEqual({ code: null, signal: 'SIGKILL' });
  });
});
