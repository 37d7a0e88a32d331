const swc = {
  jsc: {
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
    target: 'es2022',
    keepClassNames: true,
  },
  module: { type: 'es6' },
  sourceMaps: 'inline',
  swcrc: false,
};

/**
 * Tests that assert less than 500 ms, or drive many processes: one at a time, with nothing beside them. Those that wait for
 * real stores, real applications or thousands of grants have bounds of seconds and stand beside others.
 */
const PATIENT =
  '(?:redis-(?!waiters)|etcd-(?!members)|fencing-|transactions-|history-|nest-|channel-(?!contention|cuts))';
const inBand = ['\\.timing\\.spec\\.ts$', `/test/(?:faults|e2e)/(?!${PATIENT})`];
const never = ['/node_modules/', '/dist/', '/test/api/compat/'];

const shared = {
  testEnvironment: 'node',
  roots: ['<rootDir>/lib', '<rootDir>/test', '<rootDir>/sample-app'],
  modulePathIgnorePatterns: [
    '<rootDir>/dist/',
    '<rootDir>/.build/',
    '<rootDir>/.cache/',
    '<rootDir>/test/api/compat/',
  ],
  extensionsToTreatAsEsm: ['.ts'],
  // js before ts: the last mapping below also applies inside node_modules
  moduleFileExtensions: ['js', 'mjs', 'cjs', 'ts', 'json', 'node'],
  transform: { '^.+\\.ts$': ['@swc/jest', swc] },
  moduleNameMapper: {
    '^klock$': '<rootDir>/lib/index.ts',
    '^klock/(.+)$': '<rootDir>/lib/entries/$1.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
};

/** @type {import('jest').Config} */
export default {
  // Two busy cores: what takes half a second alone may take five beside a build.
  testTimeout: 15_000,
  workerIdleMemoryLimit: '512MB',
  reporters: ['default', '<rootDir>/test/support/reporter.mjs'],
  projects: [
    {
      ...shared,
      displayName: 'main',
      testMatch: ['**/*.spec.ts'],
      testPathIgnorePatterns: [...never, ...inBand],
    },
    {
      ...shared,
      displayName: 'in-band',
      testRegex: [inBand[0], `${inBand[1]}.*\\.spec\\.ts$`],
      testPathIgnorePatterns: never,
    },
  ],
};
