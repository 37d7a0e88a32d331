#!/usr/bin/env node
import { systemClock, systemRandom } from '../core/index.js';
import { runCli } from './cli.js';

const interrupted = new AbortController();
process.once('SIGINT', () => interrupted.abort());

runCli(process.argv.slice(2), {
  clock: systemClock,
  random: systemRandom,
  print: (line) => console.log(line),
  signal: interrupted.signal,
}).then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
