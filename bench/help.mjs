export const HELP = `npm run bench                 everything, medians of three interleaved rounds (about twenty minutes)
npm run bench -- --quick      shorter measurements and fewer cases, within a minute
npm run bench -- --check      ends with 1 and names each ratio that misses its target or could not be measured
npm run bench -- --only P5,P8 only what these ratios need; also names of workloads: distinct, hot, mix, burst, ...
npm run bench -- --out FILE   writes the JSON there instead of printing it
npm run bench -- --help       this text

Environment: KLOCK_TEST_REDIS_BIN, KLOCK_TEST_ETCD_BIN: programs to use for Redis and etcd.`;
