/** What the command line asks for. */
export interface Flags {
  readonly quick: boolean;
  readonly check: boolean;
  /** Ids of ratios (`P5`) and names of workloads; undefined: everything. */
  readonly only: readonly string[] | undefined;
  /** File for the JSON; undefined: standard output. */
  readonly out: string | undefined;
}

const WITH_VALUE = ['--only', '--out'];
const WITHOUT = ['--quick', '--check'];

/** @throws Error naming the word it does not know. */
export function parseFlags(args: readonly string[]): Flags {
  const values = new Map<string, string>();
  const rest = [...args];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const [name = '', given] = word.split(/=(.*)/s);
    if (WITHOUT.includes(name) && given === undefined) values.set(name, '');
    else if (WITH_VALUE.includes(name)) values.set(name, valueOf(name, given ?? rest.shift()));
    else throw new Error(`npm run bench knows no ${word}; see npm run bench -- --help`);
  }
  return {
    quick: values.has('--quick'),
    check: values.has('--check'),
    only: values.get('--only')?.split(',').filter(Boolean),
    out: values.get('--out'),
  };
}

function valueOf(name: string, value: string | undefined): string {
  if (value === undefined || value === '' || value.startsWith('--')) throw new Error(`${name} needs a value`);
  return value;
}
