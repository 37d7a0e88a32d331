import { readFileSync } from 'node:fs';
import { connect, type AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:tls';

const pem = (name: string): string => readFileSync(`test/support/etcd-certs/${name}.pem`, 'utf8');

/** Certificates of the test authority: `ca`, and `cert` and `key` of a client. */
export const clientCertificate = { ca: pem('ca'), cert: pem('client'), key: pem('client-key') };

/** Speaks TLS with clients that show a certificate of the test authority, and plain HTTP/2 with the store behind it. */
export class TlsFront {
  private constructor(private readonly server: Server) {}

  static async start(targetPort: number): Promise<TlsFront> {
    const server = createServer(
      {
        key: pem('server-key'),
        cert: pem('server'),
        ca: pem('ca'),
        requestCert: true,
        rejectUnauthorized: true,
        ALPNProtocols: ['h2'],
      },
      (client) => {
        const store = connect(targetPort, '127.0.0.1');
        client.on('error', () => store.destroy());
        store.on('error', () => client.destroy());
        client.pipe(store).pipe(client);
      },
    );
    server.on('tlsClientError', () => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new TlsFront(server);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    await new Promise((resolve) => this.server.close(resolve));
  }
}
