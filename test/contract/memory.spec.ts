import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { memoryDriver, memoryStore } from 'klock/core';
import { driverContract } from 'klock/testing';

const store = memoryStore();

driverContract(
  {
    name: 'memory',
    ttlMs: 300,
    capabilities: memoryDriver().capabilities,
    open: () => memoryDriver({ store }),
  },
  { describe, it, beforeAll, afterAll },
);

describe('a store for memory drivers', () => {
  it('[B-083] one that was meant and is missing is refused, never replaced by another', () => {
    for (const store of [undefined, null, {}, 5]) {
      expect(() => memoryDriver({ store } as object)).toThrow(/^store must be a store, such as memoryStore/);
    }
    expect(() => memoryDriver({ stroe: store } as object)).toThrow('stroe');
    expect(() => memoryDriver(null as unknown as object)).toThrow('options must be an object');
  });
});
