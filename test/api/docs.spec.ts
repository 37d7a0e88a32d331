import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

interface Block {
  /** `README.md:12` */
  readonly place: string;
  readonly text: string;
  readonly ignored: boolean;
}

const FENCE = /^```(ts|typescript)([^\n]*)\n([\s\S]*?)^```/gm;

function documents(): string[] {
  const docs = existsSync('docs') ? readdirSync('docs', { recursive: true, encoding: 'utf8' }) : [];
  return [
    'README.md',
    ...docs.filter((file) => file.endsWith('.md')).map((file) => join('docs', file)),
  ].sort();
}

function blocksOf(file: string): Block[] {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return [...text.matchAll(FENCE)].map((match) => ({
    place: `${file}:${text.slice(0, match.index).split('\n').length}`,
    text: match[3]!,
    ignored: match[2]!.split(/\s+/).includes('ignore'),
  }));
}

const blocks = documents().flatMap(blocksOf);
const ignored = blocks.filter((block) => block.ignored);
const checked = blocks.filter((block) => !block.ignored);

describe('the code blocks of README and docs', () => {
  it(`compile against the public types: ${checked.length} checked, ${ignored.length} marked "ignore"`, async () => {
    expect(existsSync('README.md')).toBe(true);
    expect(await problems()).toEqual([]);
  }, 120_000);
});

/** Compiles every block as a module of its own; what the compiler says, in places of the documents. */
async function problems(): Promise<string[]> {
  const folder = join('.build', `docs-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  try {
    checked.forEach((block, i) =>
      writeFileSync(join(folder, `block-${i}.ts`), `${block.text}\nexport {};\n`),
    );
    const config = {
      extends: '../../tsconfig.json',
      compilerOptions: { noUnusedLocals: false },
      include: ['*.ts'],
      exclude: [],
      files: ['../../lib/index.ts'],
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const output = await compile(folder);
    return output.filter((line) => line.includes('error TS')).map(inDocument);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function compile(folder: string): Promise<string[]> {
  const args = ['node_modules/typescript/bin/tsc', '-p', folder, '--pretty', 'false'];
  const failed = (error: Error & { stdout?: string }) => ({ stdout: error.stdout ?? error.message });
  const { stdout } = await promisify(execFile)(process.execPath, args).catch(failed);
  return stdout.split('\n');
}

/** `block-3.ts(2,5): error ...` → `README.md:12 line 2: error ...` */
function inDocument(line: string): string {
  return line.replace(/^.*block-(\d+)\.ts\((\d+),\d+\)/, (_, i: string, n: string) => {
    return `${checked[Number(i)]!.place} line ${n}`;
  });
}
