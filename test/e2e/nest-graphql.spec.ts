import type { Child } from '../support/child.js';
import { startCompiled } from '../support/compiled-child.js';
import { until } from './nest-support.js';

interface Answer {
  readonly data: Record<string, unknown> | null;
  readonly errors?: { readonly message: string; readonly extensions?: Record<string, unknown> }[];
}

/** The package has no types of its own. */
interface Socket {
  readonly readyState: number;
  on(event: 'message', listener: (text: Buffer) => void): void;
  send(text: string): void;
  close(): void;
}
const OPEN = 1;

describe('a GraphQL resolver', () => {
  let child: Child;
  let url: string;

  beforeAll(async () => {
    child = await startCompiled('test/e2e/nest-graphql.child.ts');
    url = await child.call('url');
  });
  afterAll(async () => void (await child.kill()));

  const ask = async (query: string, headers: Record<string, string> = {}): Promise<Answer> => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query }),
    });
    return (await response.json()) as Answer;
  };
  const errorOf = async (query: string): Promise<unknown> => (await ask(query)).errors?.[0];

  it('[B-061] [B-068] runs under its lock, decorator above and below, with the slot in its context', async () => {
    expect((await ask('{ seats(id: "1") }')).data).toEqual({ seats: '1 true true' });
    expect((await ask('mutation { place(id: "2") }')).data).toEqual({ place: '2 true' });
    expect(await child.call('isLocked', ['seats', '1'])).toBe(false);
  });

  it('[B-064] is answered for a busy key with its code and when to ask again, without key or holder', async () => {
    await child.call('acquire', ['seats', '1']);
    const error = await errorOf('{ seats(id: "1") }');
    expect(error).toMatchObject({
      message: 'The resource is locked by somebody else',
      extensions: { code: 'LOCK_TIMEOUT', retryAfterS: 1 },
    });
    await child.call('release');
    expect((await ask('{ seats(id: "1") }')).data).toEqual({ seats: '1 true true' });
  });

  it('[B-074] is not run where the request lacks the value that names the lock', async () => {
    const before = await child.call('bodies');
    expect(await errorOf('{ seats }')).toMatchObject({ extensions: { code: 'KEY_UNRESOLVED' } });
    expect(await child.call('bodies')).toBe(before);
  });

  it('[B-064] says that the lock service is down, and leaves its own exceptions alone', async () => {
    const down = await errorOf('mutation { place(id: "store") }');
    expect(down).toMatchObject({ extensions: { code: 'LOCK_UNAVAILABLE' } });
    expect(JSON.stringify(down)).not.toContain('secret');
    expect(await errorOf('mutation { place(id: "mine") }')).toMatchObject({ message: 'no such order' });
    expect(await child.call('isLocked', 'order:mine')).toBe(false);
  });

  it('that is fenced takes the fence from the header of the request: accepted, stale, none', async () => {
    const write = (fence: number): Promise<Answer> =>
      ask('{ fenced(id: "1") }', { 'klock-fence': `${fence}; key="seats:1"; store="s"` });
    expect((await write(5)).data).toEqual({ fenced: '1 5' });
    const codeOf = ({ errors }: Answer): unknown => errors?.[0]?.extensions?.code;
    expect(codeOf(await write(4))).toBe('STALE_FENCE');
    expect(codeOf(await ask('{ fenced(id: "1") }'))).toBe('INVALID_OPTION');
  });

  describe('for a subscription', () => {
    const sockets: Socket[] = [];
    afterEach(() => sockets.splice(0).forEach((socket) => socket.close()));

    /** Subscribes over a socket of its own; what it is told, as it comes. */
    const subscribe = async (id: string): Promise<string[]> => {
      const name: string = 'ws';
      const { WebSocket } = (await import(name)) as {
        WebSocket: new (url: string, protocol: string) => Socket;
      };
      const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
      sockets.push(socket);
      const told: string[] = [];
      socket.on('message', (text) => told.push(text.toString()));
      await until('open', () => socket.readyState === OPEN);
      socket.send(JSON.stringify({ type: 'connection_init' }));
      await until('acknowledged', () => told.length > 0);
      const query = `subscription { changes(id: "${id}") }`;
      socket.send(JSON.stringify({ type: 'subscribe', id: '1', payload: { query } }));
      return told;
    };

    it('[B-069] holds its lock while the client listens, and frees it when the client goes away', async () => {
      const told = await subscribe('1');
      await until('first', () => told.some((text) => text.includes('"changes":"first"')));
      expect(await child.call('isLocked', ['seats', '1'])).toBe(true);
      sockets[0]?.close();
      await until('free', async () => !(await child.call<boolean>('isLocked', ['seats', '1'])));
    });

    it('[B-064] is told that the key is busy without key or holder, and errors of its own as they are', async () => {
      await child.call('acquire', ['seats', 'busy']);
      const busy = await subscribe('busy');
      await until('told', () => busy.length > 1);
      expect(busy[1]).toContain('The resource is locked by somebody else');
      expect(busy[1]).not.toMatch(/seats|sess_/);
      await child.call('release');
      const own = await subscribe('mine');
      await until('told', () => own.some((text) => text.includes('"message":"mine"')));
    });
  });
});
