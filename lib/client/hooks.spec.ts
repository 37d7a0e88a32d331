import { Background } from './background.js';
import { Hooks } from './hooks.js';

describe('Hooks', () => {
  it('calls everybody once at the event, and at once whoever comes later', () => {
    const hooks = new Hooks();
    const calls: string[] = [];
    const run = (): number => calls.push('same');
    hooks.on(run);
    hooks.on(run);
    const takeBack = hooks.on(() => calls.push('taken back'));
    takeBack();
    hooks.fire();
    hooks.fire();
    expect(calls).toEqual(['same', 'same']);
    expect(hooks.fired).toBe(true);
    hooks.on(() => calls.push('late'));
    expect(calls.at(-1)).toBe('late');
  });
});

describe('Background', () => {
  it('waits for what runs and for what that starts, and reports what broke instead of rejecting', async () => {
    const broken: unknown[] = [];
    const background = new Background((cause) => broken.push(cause));
    let second = false;
    background.add(
      Promise.resolve().then(() => background.add(Promise.resolve().then(() => (second = true)))),
    );
    background.add(Promise.reject(new Error('defect')));
    await background.idle();
    expect(second).toBe(true);
    expect(broken).toHaveLength(1);
    expect(background.size).toBe(0);
  });
});
