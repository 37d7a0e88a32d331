// Writes lib/drivers/redis/script-text.ts from the .lua files beside this one: one script of all parts, comments left
// out, and its SHA-1. The library then needs no file at run time. The same input gives the same output.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** In the order in which they build on each other. */
const parts = [
  'shared',
  'fence',
  'waiting',
  'wake',
  'acquire',
  'release',
  'revoke',
  'renew',
  'inspect',
  'probe',
  'run',
];

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

function withoutComments(text) {
  const kept = text.split('\n').filter((line) => !/^\s*(--|$)/.test(line));
  return kept.join('\n');
}

// The one byte that is no UTF-8 is written as the Lua escape \255, so the text is ASCII and reads the same everywhere.
const text = `${parts.map((part) => withoutComments(readFileSync(here(`${part}.lua`), 'utf8'))).join('\n')}\n`;
if (/[^\x20-\x7e\n]|`|\$\{/.test(text))
  throw new Error('the scripts must be ASCII, without backquotes and ${');

const sha1 = createHash('sha1').update(text).digest('hex');
writeFileSync(
  here('../script-text.ts'),
  `// Written by \`npm run generate\` from lib/drivers/redis/scripts/*.lua: change those.

/** SHA-1 of {@link SCRIPT_TEXT}, as EVALSHA wants it. */
export const SCRIPT_SHA1 = '${sha1}';

/** The klock script. */
export const SCRIPT_TEXT = String.raw\`${text}\`;
`,
);
