import { createServer } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';
import { Bench } from '../support/client-rig.js';
import type { ScriptedLockServer } from '../support/scripted-lock-server.js';
import { TEST_CERTIFICATE, TEST_KEY } from '../support/tls-fixture.js';

const bench = new Bench();
afterEach(() => bench.end());

const credentials = ServerCredentials.createSsl(null, [
  { cert_chain: Buffer.from(TEST_CERTIFICATE), private_key: Buffer.from(TEST_KEY) },
]);
const secure = (): Promise<ScriptedLockServer> => bench.server({ credentials });

describe('encryption', () => {
  it.each(['klocks', 'grpcs', ' GRPCS'])('[K-136] is on for %s://', async (scheme) => {
    const server = await secure();
    const { klock } = bench.rig(`${scheme}://localhost:${server.port}`, { driver: { ca: TEST_CERTIFICATE } });
    expect((await klock.acquire('a')).held).toBe(true);
  });

  it.each(['klock://', 'grpc://', ''])('[K-136] is off for %p', async (scheme) => {
    const server = await bench.server();
    const { klock } = bench.rig(`${scheme}localhost:${server.port}`);
    expect((await klock.acquire('a')).held).toBe(true);
  });

  it('[K-137] is forced by tls and forced off by insecure, whatever the scheme', async () => {
    const tls = await secure();
    const plain = await bench.server();
    const forced = bench.rig(`klock://localhost:${tls.port}`, {
      driver: { ca: TEST_CERTIFICATE, transport: 'tls' },
    });
    const off = bench.rig(`klocks://localhost:${plain.port}`, { driver: { transport: 'insecure' } });
    expect((await forced.klock.acquire('a')).held).toBe(true);
    expect((await off.klock.acquire('a')).held).toBe(true);
  });

  it('does not trust a certificate that nobody vouches for, and says so', async () => {
    const server = await secure();
    const { klock } = bench.rig(`klocks://localhost:${server.port}`);
    await expect(klock.acquire('a', { waitMs: 100 })).rejects.toThrow(/self.signed/i);
    expect(server.calls).toHaveLength(0);
  });

  it('[K-139] is never below TLS 1.2', async () => {
    const seen: string[] = [];
    const old = createServer({
      cert: TEST_CERTIFICATE,
      key: TEST_KEY,
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
      ALPNProtocols: ['h2'],
    });
    old.on('secureConnection', (socket) => seen.push(String(socket.getProtocol())));
    old.on('tlsClientError', (error) => seen.push((error as { code?: string }).code ?? error.message));
    await new Promise<void>((resolve) => old.listen(0, '127.0.0.1', resolve));
    bench.after(() => new Promise((resolve) => old.close(resolve)));
    const { port } = old.address() as { port: number };
    const { klock } = bench.rig(`klocks://localhost:${port}`, { driver: { ca: TEST_CERTIFICATE } });
    await expect(klock.acquire('a', { waitMs: 100 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(seen.length).toBeGreaterThan(0);
    for (const word of seen) expect(word).toMatch(/UNSUPPORTED_PROTOCOL|PROTOCOL_VERSION|ECONNRESET/i);
  });
});
