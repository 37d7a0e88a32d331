import { once } from 'node:events';
import { createConnection, createServer, type AddressInfo, type Server } from 'node:net';
import { resetSocket } from './reset-socket.js';

describe('a socket that is reset', () => {
  let server: Server;

  beforeEach(async () => {
    server = createServer({ allowHalfOpen: true }, (socket) => socket.on('error', () => undefined).resume());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });

  afterEach(() => server.close());

  it.each(['open', 'ending', 'ended'])('is closed for good when it was %s', async (state) => {
    const socket = createConnection({ port: (server.address() as AddressInfo).port, allowHalfOpen: true });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    if (state !== 'open') socket.end();
    if (state === 'ended') await once(socket, 'finish');
    const closed = once(socket, 'close');
    resetSocket(socket);
    await closed;
    expect(socket.closed).toBe(true);
  });
});
