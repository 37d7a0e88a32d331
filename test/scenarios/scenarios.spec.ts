import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseScript, printScript, type Scenario } from './script.js';
import { Stage } from './stage.js';

const folder = fileURLToPath(new URL('.', import.meta.url));
const rewrite = process.env.KLOCK_REWRITE_SCENARIOS === '1';
const files = readdirSync(folder).filter((file) => file.endsWith('.scenario'));

function perform(scenario: Scenario): string[] {
  const stage = new Stage();
  return scenario.paragraphs.map((paragraph) => stage.play(paragraph.commands));
}

/** Replaces what a file expects by what the engine says. */
function rewriteFile(file: string): void {
  const path = join(folder, file);
  const text = readFileSync(path, 'utf8');
  const scenarios = parseScript(text);
  for (const scenario of scenarios) {
    perform(scenario).forEach((printed, index) => {
      const paragraph = scenario.paragraphs[index];
      if (paragraph !== undefined) paragraph.expected = printed;
    });
  }
  writeFileSync(path, printScript(text.slice(0, text.search(/^== /m)), scenarios));
}

if (rewrite) files.forEach(rewriteFile);

it('finds its scripts', () => {
  expect(files.length).toBeGreaterThan(5);
});

describe.each(files)('%s', (file) => {
  const text = readFileSync(join(folder, file), 'utf8');
  const scenarios = parseScript(text);

  it.each(scenarios.map((scenario) => [scenario.title, scenario] as const))('%s', (_title, scenario) => {
    const printed = perform(scenario);
    const commands = scenario.paragraphs.map((paragraph) => paragraph.commands.join('\n'));
    const said = printed.map((state, index) => `${commands[index]}\n----\n${state}`);
    const expected = scenario.paragraphs.map(
      (paragraph, index) => `${commands[index]}\n----\n${paragraph.expected}`,
    );
    expect(said.join('\n\n')).toBe(expected.join('\n\n'));
  });
});
