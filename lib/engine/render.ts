import type { Engine } from './engine.js';

/** The whole state as text. */
export function render(engine: Engine): string {
  return JSON.stringify(engine.stats());
}
