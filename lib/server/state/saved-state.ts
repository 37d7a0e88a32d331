import { readFile } from 'node:fs/promises';
import { BackendStateError, MAX_FENCE, quote } from '../../core/index.js';
import { writeDurably } from './durable-file.js';

/** What a server must know about the ones before it (design D6, D7). */
export interface SavedState {
  /** How many times a server has started on this directory. */
  readonly restart: number;
  /** No fence beyond this was ever given out. */
  readonly fence: bigint;
  /** No session of the last server had a longer lease. */
  readonly longestLeaseMs: number;
  /** The last server ended with nobody left who could believe to hold a lock. */
  readonly clean: boolean;
}

const FORMAT = 1;

/**
 * Reads the state; undefined where there is no file.
 * @throws BackendStateError where there is one that cannot be understood: guessing could let two clients hold one lock.
 */
export async function readState(path: string): Promise<SavedState | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new BackendStateError(`state file ${quote(path)} cannot be read`, { cause });
  }
  return parseState(path, text);
}

/** @throws the file system's error; the old state then still stands. */
export async function writeState(path: string, state: SavedState): Promise<void> {
  await writeDurably(
    path,
    `${JSON.stringify({ format: FORMAT, ...state, fence: state.fence.toString() })}\n`,
  );
}

function parseState(path: string, text: string): SavedState {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch (cause) {
    throw damaged(path, 'it is no JSON', cause);
  }
  if (typeof found !== 'object' || found === null) throw damaged(path, 'it holds no object');
  const { format, restart, fence, longestLeaseMs, clean } = found as Record<string, unknown>;
  if (format !== FORMAT) throw damaged(path, `its format is ${quote(format)}, this version reads ${FORMAT}`);
  if (!isCount(restart)) throw damaged(path, `restart is ${quote(restart)}`);
  if (!isCount(longestLeaseMs)) throw damaged(path, `longestLeaseMs is ${quote(longestLeaseMs)}`);
  if (typeof clean !== 'boolean') throw damaged(path, `clean is ${quote(clean)}`);
  if (typeof fence !== 'string' || !/^\d{1,19}$/.test(fence) || BigInt(fence) > MAX_FENCE) {
    throw damaged(path, `fence is ${quote(fence)}`);
  }
  return { restart, fence: BigInt(fence), longestLeaseMs, clean };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function damaged(path: string, why: string, cause?: unknown): BackendStateError {
  return new BackendStateError(
    `state file ${quote(path)} is damaged (${why}); restore it, or remove it to start with a full quarantine`,
    cause === undefined ? {} : { cause },
  );
}
