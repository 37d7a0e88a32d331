// The child's end of test/support/child.ts: one line of JSON per call, answer and event.
import { createInterface } from 'node:readline';

const bigintAsText = (_key, value) => (typeof value === 'bigint' ? value.toString() : value);
const say = (line) => process.stdout.write(`${JSON.stringify(line, bigintAsText)}\n`);

/** Tells the test that something happened. A bigint arrives as its decimal text. */
export function emit(event, data) {
  say({ event, data });
}

async function answer(functions, { id, name, args }) {
  try {
    if (!functions[name]) throw new Error(`this child serves no function ${name}`);
    say({ id, result: await functions[name](...args) });
  } catch (error) {
    say({ id, error: { message: error?.message ?? String(error), code: error?.code, name: error?.name } });
  }
}

/** Serves the functions by name until the test goes away; then the process ends. */
export function serve(functions) {
  const lines = createInterface({ input: process.stdin });
  lines.on('line', (line) => void answer(functions, JSON.parse(line)));
  lines.on('close', () => process.exit(0));
  emit('serving');
}
