import { readFileSync } from 'node:fs';

/** Linux counts in hundredths of a second for user space. */
const TICK_MS = 10;

/** CPU time of a process so far, in milliseconds, by /proc; undefined where there is none. */
export function cpuMsOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // "pid (name) state ppid ...": the name may hold anything, so look behind the last bracket
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    return undefined;
  }
}
