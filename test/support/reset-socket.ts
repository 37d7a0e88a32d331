import type { Socket } from 'node:net';

/**
 * Breaks a connection off with RST. Where its FIN is on the way the socket is closed instead: Node cannot reset it then,
 * keeps its handle for ever, and never gets past the clean-up at the end of the process.
 */
export function resetSocket(socket: Socket): void {
  const finUnderWay = socket.writableEnded && !socket.writableFinished && socket.writableLength === 0;
  if (finUnderWay) socket.destroy();
  else socket.resetAndDestroy();
}
