import { X509Certificate, createPrivateKey } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { InvalidOptionError } from '../../core/index.js';

/**
 * Reads certificates and key as TLS will. What OpenSSL cannot read would later be an error that names no option, or, of an
 * authority, a member that seems not to answer.
 * @throws InvalidOptionError naming the option; never its value, which may be a private key.
 */
export function checkTlsMaterial(tls: {
  readonly ca: Buffer | undefined;
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
}): void {
  const { ca, cert, key } = tls;
  if (ca !== undefined) read('etcd.tls.ca', 'a certificate', () => new X509Certificate(ca));
  if (cert === undefined || key === undefined) return;
  read('etcd.tls.cert', 'a certificate', () => new X509Certificate(cert));
  read('etcd.tls.key', 'a private key without a passphrase', () => createPrivateKey(key));
  read('etcd.tls.key', 'the key of etcd.tls.cert', () => createSecureContext({ cert, key }));
}

function read(option: string, expected: string, attempt: () => unknown): void {
  try {
    attempt();
  } catch (cause) {
    throw new InvalidOptionError(`${option} must be ${expected} that OpenSSL can read`, {
      option,
      value: 'text in PEM form',
      cause,
    });
  }
}
