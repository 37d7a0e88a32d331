/** What a process of the sample tells the one that started it, once it can be reached. */
export interface ReadyMessage {
  readonly ready: string;
}

/**
 * Tells the starter, if there is one, where this process can be reached, and ends with it: a process whose starter
 * was killed would otherwise stay behind.
 */
export function reportReady(url: string): void {
  if (process.send === undefined) return;
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  const message: ReadyMessage = { ready: url };
  process.send(message);
}
