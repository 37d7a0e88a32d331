import { resolveClientOptions, type ClientOptions } from './client-options.js';

const tlsOf = (url: string, transport?: string): boolean =>
  resolveClientOptions({ url, ...(transport === undefined ? {} : { transport }) } as ClientOptions).targets[0]
    .tls;

function refusal(options: Partial<Record<keyof ClientOptions, unknown>>): unknown {
  try {
    resolveClientOptions({ url: 'klock://localhost:1', ...options } as ClientOptions);
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('resolveClientOptions', () => {
  it('[K-136] encrypts if the scheme says so', () => {
    expect(tlsOf('klocks://a:1')).toBe(true);
    expect(tlsOf('klock://a:1')).toBe(false);
    expect(tlsOf('a:1', ' AUTO ')).toBe(false);
    expect(tlsOf('grpcs://a:1', '  ')).toBe(true);
  });

  it('[K-137] encrypts always with tls and never with insecure, whatever the scheme', () => {
    expect(tlsOf('klock://a:1', 'tls')).toBe(true);
    expect(tlsOf('a:1', ' TLS')).toBe(true);
    expect(tlsOf('klocks://a:1', 'insecure')).toBe(false);
  });

  it.each<[keyof ClientOptions, unknown]>([
    ['url', ''],
    ['url', []],
    ['url', undefined],
    ['transport', 'mtls'],
    ['transport', 5],
    ['authToken', 7],
    ['ca', ''],
    ['ca', {}],
    ['ca', null],
    ['ca', 'ca.pem'],
    ['ca', Buffer.from('nothing')],
    ['watch', null],
    ['sessionLeaseMs', 0],
    ['leaseBufferMs', 1.5],
    ['connectTimeoutMs', Infinity],
    ['keepaliveMs', 9_999],
    ['watch', 'loose'],
    ['idleSessionMs', -1],
  ])('[K-138] refuses %s = %p at construction', (option, value) => {
    expect(refusal({ [option]: value })).toMatchObject({ code: 'INVALID_OPTION', option });
  });

  it('names the entry of a list of addresses, and an option nobody knows', () => {
    expect(refusal({ url: ['klock://a:1', 'ftp://b:1'] })).toMatchObject({
      option: 'url[1]',
      value: 'ftp://b:1',
    });
    expect(refusal({ adress: 'x' } as never)).toMatchObject({ option: 'adress' });
  });

  it('[K-140] trims the token and takes a blank one for none', () => {
    expect(resolveClientOptions({ url: 'localhost', authToken: ' t0k ' }).authToken).toBe('t0k');
    expect(resolveClientOptions({ url: 'localhost', authToken: '  ' }).authToken).toBeUndefined();
  });

  it('never shows a token in an error', () => {
    const error = refusal({ authToken: 'zq xw' }) as Error;
    expect(`${JSON.stringify(error)} ${error.message}`).not.toContain('zq');
  });

  it('refuses to send a token in clear to another machine unless that is asked for', () => {
    const authToken = 'secret-token';
    const error = refusal({ url: 'klock://lock-1:8080', authToken }) as Error;
    expect(error).toMatchObject({ code: 'INVALID_OPTION', option: 'authToken' });
    expect(error.message).toContain('lock-1:8080');
    expect(JSON.stringify(error)).not.toContain(authToken);
    expect(refusal({ url: ['localhost', 'lock-2'], authToken })).toMatchObject({ option: 'authToken' });
    expect(refusal({ url: 'klock://lock-1:8080', authToken, transport: 'insecure' })).toBeUndefined();
    expect(refusal({ url: 'klocks://lock-1:8080', authToken })).toBeUndefined();
    expect(refusal({ url: 'klock://127.0.0.1:8080', authToken })).toBeUndefined();
  });
});
