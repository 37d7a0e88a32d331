import type { Child } from '../support/child.js';
import { startCompiled } from '../support/compiled-child.js';

describe.each(['esm', 'cjs'])(
  'two copies of the package in one application, the module from the %s one',
  (kind) => {
    let child: Child;
    beforeAll(async () => {
      child = await startCompiled('test/e2e/nest-copies.child.ts', { args: [kind] });
    }, 60_000);
    afterAll(async () => void (await child.kill()));

    it('really are two, and mean the same injection token and instance', async () => {
      expect(await child.call('different')).toBe(true);
      expect(await child.call('tokens')).toEqual([true, true]);
    });

    it('[B-063] [peers 16] lock as one: decorators of either bind to the module of the other', async () => {
      expect(await child.call('inner')).toBe('true');
      expect(await child.call('seen')).toBe(true);
    });

    it('[B-078] know of one flow: nesting over both is refused at once, with an error both recognise', async () => {
      expect(await child.call('nested')).toEqual(['LOCK_REENTRY', true]);
    });

    it('see a covering lock taken through the other, and refuse without one', async () => {
      expect(await child.call('covered')).toBe('covered');
      expect(await child.call('uncovered')).toEqual(['LOCK_NOT_HELD', true]);
    });

    it('[B-064] answer HTTP for locks of the other: status and fence header', async () => {
      expect(await child.call('http')).toEqual([200, true, 423]);
    });
  },
);
