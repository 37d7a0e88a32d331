// One line before and one after each piece of work that makes somebody wait.
import { spawn } from 'node:child_process';

const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;

/** Runs `work`, saying what goes on; still waiting is said every 15 s. */
export async function step(title, work) {
  const since = performance.now();
  console.log(`> ${title} ...`);
  const still = setInterval(() => console.log(`> ${title}: still at it after ${seconds(since)}`), 15_000);
  try {
    const result = await work();
    console.log(`> ${title}: done in ${seconds(since)}`);
    return result;
  } finally {
    clearInterval(still);
  }
}

/** Runs a command to its end; its output is shown only when it fails, unless `show`. */
export function run(command, args, { cwd, env = process.env, show = false } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env,
      stdio: ['ignore', show ? 'inherit' : 'pipe', show ? 'inherit' : 'pipe'],
    });
    let output = '';
    child.stdout?.on('data', (chunk) => (output += chunk));
    child.stderr?.on('data', (chunk) => (output += chunk));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) return resolve(output);
      reject(new Error(`${[command, ...args].join(' ')} ended with ${signal ?? code}\n${output}`));
    });
  });
}
