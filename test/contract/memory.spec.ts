import { afterAll, beforeAll, describe, it } from '@jest/globals';
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
