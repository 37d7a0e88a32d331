import { createConnection, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { TcpProxy } from './tcp-proxy.js';

describe('the TCP proxy of the tests', () => {
  let echo: Server;
  let proxy: TcpProxy;
  const sockets: Socket[] = [];

  beforeEach(async () => {
    echo = createServer({ allowHalfOpen: true }, (socket) => {
      sockets.push(socket);
      socket.on('error', () => undefined);
      socket.pipe(socket);
    });
    await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
    proxy = await TcpProxy.start({ target: { port: (echo.address() as AddressInfo).port } });
  });

  afterEach(async () => {
    await proxy.stop();
    for (const socket of sockets.splice(0)) socket.destroy();
    echo.close();
  });

  async function connect(): Promise<Socket> {
    const socket = createConnection(proxy.port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  }

  /** What comes back of `text`, all of it. */
  function ask(socket: Socket, text: string): Promise<string> {
    return new Promise((resolve) => {
      let back = '';
      const read = (chunk: Buffer): void => {
        back += chunk.toString();
        if (back.length < text.length) return;
        socket.off('data', read);
        resolve(back);
      };
      socket.on('data', read);
      socket.write(text);
    });
  }

  const closed = (socket: Socket): Promise<unknown> =>
    new Promise((resolve) => socket.once('close', resolve));
  const quiet = (ms: number): Promise<string> => new Promise((r) => setTimeout(() => r('silence'), ms));

  it('passes bytes unchanged and counts the open connections', async () => {
    const text = 'x'.repeat(3_000_000) + 'end';
    const socket = await connect();
    expect(await ask(socket, text)).toBe(text);
    expect(proxy.connections).toBe(1);
  });

  it('adds its latency once in each direction', async () => {
    const socket = await connect();
    proxy.setWeather({ latencyMs: 100 });
    const since = performance.now();
    expect(await ask(socket, 'hello')).toBe('hello');
    expect(performance.now() - since).toBeGreaterThanOrEqual(199);
  });

  it('keeps the order of bytes under jitter', async () => {
    const socket = await connect();
    proxy.setWeather({ jitterMs: 20 });
    const words = Array.from({ length: 20 }, (_, i) => `word-${i};`);
    const back = new Promise<string>((resolve) => {
      let all = '';
      socket.on('data', (chunk: Buffer) => {
        all += chunk.toString();
        if (all.length === words.join('').length) resolve(all);
      });
    });
    for (const word of words) {
      socket.write(word);
      await quiet(2);
    }
    expect(await back).toBe(words.join(''));
  });

  it('lets no more bytes per second pass than the bandwidth', async () => {
    const socket = await connect();
    proxy.setWeather({ bytesPerSecond: 100_000 }, 'up');
    const since = performance.now();
    await ask(socket, 'x'.repeat(30_000));
    expect(performance.now() - since).toBeGreaterThanOrEqual(299);
  });

  it.each(['up', 'down', 'both'] as const)(
    'passes nothing while silent (%s), and everything once healed',
    async (way) => {
      const socket = await connect();
      await ask(socket, 'warm');
      proxy.silence(way);
      const answer = ask(socket, 'hello');
      expect(await Promise.race([answer, quiet(100)])).toBe('silence');
      proxy.heal();
      expect(await answer).toBe('hello');
    },
  );

  it('resets a connection whose bytes it lost when the silence ends', async () => {
    const socket = await connect();
    await ask(socket, 'warm');
    proxy.silence('up', { lost: true });
    const closed = new Promise((resolve) => socket.once('error', resolve));
    socket.write('gone');
    expect(await Promise.race([closed, quiet(100)])).toBe('silence');
    proxy.heal();
    expect(await closed).toMatchObject({ code: 'ECONNRESET' });
    await quiet(20);
    expect(proxy.connections).toBe(0);
  });

  it('swallows the end of a connection while silent', async () => {
    const socket = await connect();
    await ask(socket, 'warm');
    const [server] = sockets.filter((each) => each.localPort === (echo.address() as AddressInfo).port);
    const ended = once(server!, 'end');
    proxy.silence();
    socket.end();
    expect(await Promise.race([ended, quiet(100)])).toBe('silence');
    proxy.heal();
    await ended;
  });

  it('resets both sides on demand and takes new connections afterwards', async () => {
    const socket = await connect();
    await ask(socket, 'warm');
    const failure = once(socket, 'error');
    proxy.reset();
    expect((await failure)[0]).toMatchObject({ code: 'ECONNRESET' });
    expect(await ask(await connect(), 'again')).toBe('again');
  });

  it('passes the end of a connection on later than its data when told so', async () => {
    const socket = await connect();
    proxy.setWeather({ closeDelayMs: 150 }, 'up');
    const since = performance.now();
    const ended = once(socket, 'end');
    expect(await ask(socket, 'bye')).toBe('bye');
    socket.end();
    await ended;
    expect(performance.now() - since).toBeGreaterThanOrEqual(149);
  });

  it('refuses connections while its port is closed, on the same port it had', async () => {
    const { port } = proxy;
    await proxy.refuse();
    await expect(connect()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await proxy.accept();
    expect(proxy.port).toBe(port);
    expect(await ask(await connect(), 'back')).toBe('back');
  });

  it('a stranded connection is broken for the client, while the server still gets what was sent, late', async () => {
    const old = await connect();
    expect(await ask(old, 'warm')).toBe('warm');
    const [atServer] = [sockets.at(-1) as Socket];
    const got: string[] = [];
    atServer.on('data', (chunk: Buffer) => got.push(chunk.toString()));
    const stranded = proxy.strand();
    const broken = closed(old);
    old.write('late');
    await quiet(50);
    stranded.breakOff();
    await broken;
    const fresh = await connect();
    expect(await ask(fresh, 'new')).toBe('new');
    expect([got, stranded.deliver()]).toEqual([[], 4]);
    await once(atServer, 'data');
    expect(got).toEqual(['late']);
    const gone = closed(atServer);
    stranded.end();
    await gone;
  });
});
