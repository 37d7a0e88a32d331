import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === 'node_modules' || entry.name === 'dist') return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

/** Ids that stand in titles of specs, of the contract suite and of scenario scripts. */
function idsInTitles(): Set<string> {
  const titles = ['lib', 'test', 'sample-app']
    .flatMap((folder) => filesBelow(join(root, folder)))
    .filter((path) => /\.spec\.ts$|-cases\.ts$|-contract\.ts$|\.scenario$/.test(path));
  const ids = new Set<string>();
  for (const path of titles) {
    for (const [, id] of readFileSync(path, 'utf8').matchAll(/\[([A-Z]{1,2}-?\d{1,3})\]/g))
      ids.add(id as string);
  }
  return ids;
}

function openRows(): Set<string> {
  const text = readFileSync(join(root, 'docs/decisions/rows.md'), 'utf8');
  const open = text.slice(text.indexOf('## Open until'));
  return new Set(
    [...open.matchAll(/^\| ([A-Z]-\d{2,3}(?:, [A-Z]-\d{2,3})*) \|/gm)].flatMap(([, rows]) =>
      (rows as string).split(', '),
    ),
  );
}

const ids = idsInTitles();

it('every row K-001 to K-204 stands in the title of a test, or in rows.md as open', () => {
  const open = openRows();
  const rows = Array.from({ length: 204 }, (_, index) => `K-${String(index + 1).padStart(3, '0')}`);
  expect(rows.filter((row) => !ids.has(row) && !open.has(row))).toEqual([]);
});

it.each([
  ['L', 81],
  ['D', 65],
  ['H', 28],
])('every row of %s-01 and on, %i of them, stands in the title of a test', (letter, count) => {
  const rows = Array.from({ length: count }, (_, index) => `${letter}-${String(index + 1).padStart(2, '0')}`);
  expect(rows.filter((row) => !ids.has(row))).toEqual([]);
});

const CASES =
  '001 002 003 005 009 011 012 013 014 015 017 018 019 020 022 025 027 028 029 031 032 034 035 061 063 064 066 068 069 071 073 074 077 078 079 082 083';

it('every case this package answers for so far stands in the title of a test', () => {
  expect(CASES.split(' ').filter((number) => !ids.has(`B-${number}`))).toEqual([]);
});
