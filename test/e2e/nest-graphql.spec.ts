import type { Child } from '../support/child.js';
import { startCompiled } from '../support/compiled-child.js';

interface Answer {
  readonly data: Record<string, unknown> | null;
  readonly errors?: { readonly message: string; readonly extensions?: Record<string, unknown> }[];
}

describe('a GraphQL resolver', () => {
  let child: Child;
  let url: string;

  beforeAll(async () => {
    child = await startCompiled('test/e2e/nest-graphql.child.ts');
    url = await child.call('url');
  });
  afterAll(async () => void (await child.kill()));

  const ask = async (query: string): Promise<Answer> => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
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
});
