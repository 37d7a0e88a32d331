import { hashSlot } from './index.js';

describe('hashSlot', () => {
  it.each([
    ['123456789', 12_739],
    ['foo', 12_182],
    ['bar', 5_061],
    ['', 0],
  ])('of %j is that of the Cluster specification', (key, slot) => {
    expect(hashSlot(key)).toBe(slot);
  });

  it.each([
    ['{user1000}.following', 'user1000'],
    ['foo{{bar}}zap', '{bar'],
    ['foo{bar}{zap}', 'bar'],
  ])('of %j is that of its tag %j', (key, tag) => {
    expect(hashSlot(key)).toBe(hashSlot(tag));
  });

  it('of a key with an empty or unfinished tag is that of the whole key', () => {
    expect(hashSlot('foo{}{bar}')).not.toBe(hashSlot('bar'));
    expect(hashSlot('foo{bar')).not.toBe(hashSlot('bar'));
    expect(hashSlot('foo}bar')).not.toBe(hashSlot('bar'));
  });
});
