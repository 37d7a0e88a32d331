import { isLockError } from '../core/index.js';
import type { Command, Terminal } from './command.js';
import { demoCommand } from './demo-command.js';
import { describeFlags, UsageError } from './flags.js';
import { loadCommand } from './load-command.js';
import { didYouMean } from './nearest.js';
import { revokeCommand } from './revoke-command.js';
import { whoCommand } from './who-command.js';

const COMMANDS: Readonly<Record<string, Command>> = {
  who: whoCommand,
  revoke: revokeCommand,
  bench: loadCommand,
  demo: demoCommand,
};

/** Exit code for a command line that is not understood. */
const USAGE = 2;

const asksForHelp = (words: readonly string[]): boolean =>
  words.some((word) => ['--help', '-help', '-h'].includes(word));

/** Runs one command line of `klock`. @returns the exit code. Never rejects for what a user can get wrong. */
export async function runCli(words: readonly string[], terminal: Terminal): Promise<number> {
  const [name = '', ...rest] = words;
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) return overview(name, terminal);
  if (asksForHelp(rest)) {
    terminal.print(helpOn(name, command));
    return 0;
  }
  try {
    return await command.run(rest, terminal);
  } catch (error) {
    if (!isUsage(error)) throw error;
    terminal.print(`klock ${name}: ${error.message}\nklock ${name} --help lists what it takes.`);
    return USAGE;
  }
}

function helpOn(name: string, { about, takes, notes = [], flags }: Command): string {
  const line = takes === undefined ? [] : [`  klock ${name} ${takes}`, ''];
  return [
    `klock ${name}: ${about}`,
    '',
    ...line,
    describeFlags(flags),
    ...notes.map((note) => `\n${note}`),
  ].join('\n');
}

function isUsage(error: unknown): error is Error {
  return (
    error instanceof UsageError || isLockError(error, 'INVALID_OPTION') || isLockError(error, 'INVALID_KEY')
  );
}

function overview(name: string, terminal: Terminal): number {
  const known = Object.entries(COMMANDS).map(([word, { about }]) => `  klock ${word.padEnd(6)}  ${about}`);
  terminal.print([...known, '', 'klock COMMAND --help lists the flags of a command.'].join('\n'));
  if (name === '' || asksForHelp([name]) || name === 'help') return 0;
  terminal.print(`There is no command ${name}${didYouMean(name, Object.keys(COMMANDS)) || '.'}`);
  return USAGE;
}
