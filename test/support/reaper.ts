import { spawn, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';

/**
 * Outlives this process by a moment: when its standard input ends, because we ended however badly, it kills the
 * processes and removes the folders it was told of and not told to forget.
 */
const SCRIPT = `
pids=' '; folders=''
while read -r what value; do
  case "$what" in
    pid) pids="$pids$value " ;;
    forget) pids=$(printf '%s' "$pids" | sed "s/ $value / /") ;;
    folder) folders="$folders$value
" ;;
  esac
done
for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
[ -n "$folders" ] && sleep 0.3
printf '%s' "$folders" | while read -r folder; do rm -rf -- "$folder"; done
`;

let reaper: ChildProcess | undefined;

function tell(line: string): void {
  if (!reaper) {
    reaper = spawn('sh', ['-c', SCRIPT], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
    reaper.on('error', () => undefined);
    reaper.stdin!.on('error', () => undefined);
    // neither may keep a test process alive
    reaper.unref();
    (reaper.stdin as Socket).unref();
  }
  reaper.stdin!.write(`${line}\n`);
}

/** Kill this process if we end before {@link forgetPid}. */
export function reapPid(pid: number): void {
  tell(`pid ${pid}`);
}

export function forgetPid(pid: number): void {
  tell(`forget ${pid}`);
}

/** Remove this folder when we end. */
export function reapFolder(path: string): void {
  tell(`folder ${path}`);
}
