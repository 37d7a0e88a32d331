import { hostname, userInfo } from 'node:os';
import { createKlock, isLockError, type KlockInstance, type KeyInput } from '../core/index.js';
import type { Terminal } from './command.js';
import { choice, UsageError } from './flags.js';
import { driverFor, SERVER_FLAGS } from './server-flags.js';

/** Exit code of a command that could not be carried out. */
const FAILED = 1;
const MAX_NAME = 100;

const { addr: _, ...REACHING } = SERVER_FLAGS;

/** Flags of the commands for operators; the address is a word of its own there. */
export const OPERATOR_FLAGS = { ...REACHING, json: choice(false, 'print JSON') };

/** How to reach the server whose address comes first. */
export interface Operator {
  readonly url: string;
  readonly token: string;
  readonly insecure: boolean;
}

/** Asks the server, and says in one line why it could not. @throws what a user got wrong. */
export async function asOperator(
  operator: Operator,
  terminal: Terminal,
  ask: (klock: KlockInstance) => Promise<number>,
): Promise<number> {
  const { url, token, insecure } = operator;
  const klock = createKlock({ driver: driverFor({ addr: url, token, insecure }), clientName: whoAsks() });
  try {
    return await ask(klock);
  } catch (error) {
    if (!isLockError(error) || error.code === 'INVALID_OPTION' || error.code === 'INVALID_KEY') throw error;
    terminal.print(`${error.code}: ${error.message}`);
    return FAILED;
  } finally {
    await klock.close({ graceMs: 1 });
  }
}

/** One or two words are the two parts of a key, as they are: nothing in them is a separator. @throws UsageError */
export function keyOf(words: readonly string[]): KeyInput {
  const [l1, l2, ...more] = words;
  if (l1 === undefined)
    throw new UsageError('a key is needed: its first part, and its second part if it has one');
  if (more.length > 0)
    throw new UsageError(`a key has at most two parts, not ${words.length} (quote blanks)`);
  return l2 === undefined ? l1 : [l1, l2];
}

/** @throws UsageError */
export function urlOf(words: readonly string[]): string {
  const [url] = words;
  if (url === undefined)
    throw new UsageError('the address of the server is needed, such as klock://127.0.0.1:8080');
  return url;
}

/** For the server's log: a label, no proof. */
function whoAsks(): string {
  try {
    const name = `${userInfo().username}@${hostname()}`.replace(/[^\x21-\x7e]/g, '?');
    return `klock-cli ${name.slice(0, MAX_NAME)}`;
  } catch {
    return 'klock-cli';
  }
}
