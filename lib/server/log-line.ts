import type { LogFacts, LogFormat, LogLevel } from './server-log.js';

/** One record as a line, with its line end. */
export function logLine(
  format: LogFormat,
  wallMs: number,
  level: LogLevel,
  event: string,
  facts: LogFacts,
): string {
  const time = new Date(wallMs).toISOString();
  return format === 'json'
    ? `${JSON.stringify({ time, level, event, ...facts })}\n`
    : `${time} ${level.toUpperCase().padEnd(5)} ${event}${consoleFacts(facts)}\n`;
}

function consoleFacts(facts: LogFacts): string {
  return Object.entries(facts)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${typeof value === 'string' ? quoted(value) : String(value)}`)
    .join('');
}

/** As it is where it is one plain word, else quoted, so that nothing a client sends can begin a new line or fact. */
function quoted(text: string): string {
  return /^[\x21\x23-\x3c\x3e-\x7e]+$/.test(text) ? text : JSON.stringify(text);
}
