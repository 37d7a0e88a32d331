import { InvalidOptionError, MAX_FENCE, quote, type FenceProof } from '../core/index.js';
import { escapeText, keyText, parseKeyText, unescapeText } from './key-text.js';
import { FENCE_DIGITS, MAX_FENCE_ENTRIES, MAX_FENCE_HEADER_LENGTH } from './limits.js';

/** Name of the HTTP header, and in lower case of the gRPC metadata entry, that carries fences between services. */
export const FENCE_HEADER = 'Klock-Fence';

/**
 * The value of `Klock-Fence`: `42; key="tenant-1/invoice-7"; store="klock:lock-1:8080"`, always ASCII. The key is that of
 * the grant, so that its level is the grant's; several proofs are separated by commas.
 * @throws InvalidOptionError for none, more than 16, or more than 8,192 characters.
 */
export function formatFenceHeader(proofs: readonly FenceProof[]): string {
  if (proofs.length < 1 || proofs.length > MAX_FENCE_ENTRIES) {
    throw malformed(`carries 1 to ${MAX_FENCE_ENTRIES} fences, not ${proofs.length}`, proofs.length);
  }
  const value = proofs.map(formatProof).join(', ');
  if (value.length <= MAX_FENCE_HEADER_LENGTH) return value;
  throw malformed(`must not exceed ${MAX_FENCE_HEADER_LENGTH} characters, got ${value.length}`, value);
}

function formatProof({ fence, key, store }: FenceProof): string {
  return `${fence}; key="${keyText(key)}"; store="${escapeText(store)}"`;
}

const PROOF = /^[ \t]*([1-9]\d*);[ \t]*key="([^"]*)";[ \t]*store="([^"]+)"[ \t]*$/;
/** Up to a comma outside quotes: a key may hold one. */
const ENTRY = /((?:[^",]|"[^"]*")+)(?:,|$)/gy;

/**
 * Reads a `Klock-Fence` value, exact to the last bit of every fence.
 * @throws InvalidOptionError (option `Klock-Fence`) for anything {@link formatFenceHeader} does not write.
 */
export function parseFenceHeader(value: unknown): readonly FenceProof[] {
  if (typeof value !== 'string') throw malformed('must be text', value);
  // Before anything is looked for in it: the text is a stranger's.
  if (value.length > MAX_FENCE_HEADER_LENGTH) {
    throw malformed(`must not exceed ${MAX_FENCE_HEADER_LENGTH} characters, got ${value.length}`, value);
  }
  const entries = splitEntries(value);
  if (entries.length > MAX_FENCE_ENTRIES)
    throw malformed(`carries more than ${MAX_FENCE_ENTRIES} fences`, value);
  return entries.map(parseProof);
}

/** In time linear in the text; what is no list comes out as one entry that nothing can be made of. */
function splitEntries(value: string): readonly string[] {
  const matches = [...value.matchAll(ENTRY)];
  const length = matches.reduce((sum, [matched]) => sum + matched.length, 0);
  const isList = length > 0 && length === value.length && !value.endsWith(',');
  return isList ? matches.map(([, entry = '']) => entry) : [value];
}

function parseProof(text: string): FenceProof {
  const [, decimal = '', keyPart = '', storePart = ''] = PROOF.exec(text) ?? [];
  const fence = decimal === '' || decimal.length > FENCE_DIGITS ? 0n : BigInt(decimal);
  const key = parseKeyText(keyPart);
  const store = unescapeText(storePart);
  if (fence < 1n || fence > MAX_FENCE || key === undefined || store === undefined) {
    throw malformed(`must read like 42; key="tenant-1/invoice-7"; store="...", got ${quote(text)}`, text);
  }
  return { fence, key, store };
}

function malformed(problem: string, value: unknown): InvalidOptionError {
  return new InvalidOptionError(`${FENCE_HEADER} ${problem}`, { option: FENCE_HEADER, value });
}
