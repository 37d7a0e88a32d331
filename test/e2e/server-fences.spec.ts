import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LockServer } from '../../lib/server/index.js';
import { RecordingLog, WireClient } from '../../lib/server/server.spec-support.js';

describe('fences of a server with a state directory', () => {
  let folder: string;
  let server: LockServer;
  let client: WireClient;

  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'klock-fences-'))));
  afterEach(async () => {
    client.close();
    await server.close({ graceMs: 0 });
    rmSync(folder, { recursive: true, force: true });
  });

  const startFrom = async (fence: bigint): Promise<string> => {
    mkdirSync(join(folder, 'state'));
    const state = { format: 1, restart: 1, fence: fence.toString(), longestLeaseMs: 60_000, clean: true };
    writeFileSync(join(folder, 'state/state.json'), JSON.stringify(state));
    const log = new RecordingLog();
    server = new LockServer({ address: '127.0.0.1:0', stateDir: join(folder, 'state'), log });
    await server.start();
    client = new WireClient(server.address);
    return client.session();
  };

  it('[B-012] [K-027] a fence beyond 2^53 arrives exactly, as a bigint', async () => {
    const sessionId = await startFrom(2n ** 53n + 1n);
    const { fence } = await client.acquire({ sessionId });
    expect(fence).toBe(2n ** 53n + 2n);
  });

  it('[B-012] the last fence there is is given out, and then the lock refused instead of a fence wrapped', async () => {
    const last = 2n ** 63n - 1n;
    const sessionId = await startFrom(last - 1n);
    expect((await client.acquire({ sessionId, p1: 'a' })).fence).toBe(last);
    const { error, fence } = await client.acquire({ sessionId, p1: 'b' });
    expect([error?.code, fence]).toEqual(['STORAGE_UNAVAILABLE', 0n]);
  });

  it('blocks are reserved while grants go on, and what was given out is always covered', async () => {
    const sessionId = await startFrom(0n);
    let last = 0n;
    for (let grant = 0; grant < 100; grant++) {
      const { token, fence } = await client.acquire({ sessionId });
      expect(fence > last).toBe(true);
      last = fence;
      await client.release({ sessionId, token });
    }
  });
});
