import { pause, isLockError } from '../core/index.js';
import type { Command, Terminal } from './command.js';
import { basic, contention, localExpiry, reacquire, wrongToken, type Scenario } from './demo-scenarios.js';
import { DemoStage, NotShown } from './demo-stage.js';
import { choice, parseFlags } from './flags.js';
import { SERVER_FLAGS } from './server-flags.js';

const FLAGS = {
  ...SERVER_FLAGS,
  'run-bad-token': choice(true, 'in S5 also knock at the server with a wrong token'),
};

const PROBES = 4;
const PROBE_PAUSE_MS = 500;

/** `klock demo`: what a lock promises, shown on a live server. Ends with 1 at the first statement that is not true. */
export const demoCommand: Command = {
  about: 'shows five scenarios on a running lock server; ends with 1 at the first that fails',
  flags: FLAGS,
  run: async (words, terminal) => {
    const flags = parseFlags(FLAGS, words);
    const stage = new DemoStage(flags);
    const scenarios = [basic, contention, reacquire, localExpiry, wrongToken(flags['run-bad-token'])];
    try {
      if (!(await step(health, stage, terminal))) return 1;
      for (const scenario of scenarios) if (!(await step(scenario, stage, terminal))) return 1;
      terminal.print('All of it was true.');
      return 0;
    } finally {
      await stage.close();
    }
  },
};

/** A server that has just been started may need a moment. */
const health: Scenario = {
  title: 'the server answers',
  run: async (stage, terminal) => {
    const driver = stage.driver();
    stage.over('health', driver);
    for (let probe = 1; ; probe++) {
      const { state, detail } = await driver.health();
      if (state === 'ok') return `at try ${probe}`;
      if (probe === PROBES)
        throw new NotShown(`${state} after ${PROBES} tries: ${detail ?? 'no reason given'}`);
      await pause(terminal.clock, PROBE_PAUSE_MS);
    }
  },
};

async function step(scenario: Scenario, stage: DemoStage, terminal: Terminal): Promise<boolean> {
  try {
    terminal.print(`ok      ${scenario.title}: ${await scenario.run(stage, terminal)}`);
    return true;
  } catch (error) {
    if (!(error instanceof NotShown) && !isLockError(error)) throw error;
    terminal.print(`FAILED  ${scenario.title}: ${error.message}`);
    return false;
  }
}
