import { isLoopback, parseAddress } from './address.js';

describe('parseAddress', () => {
  it.each([
    ['klock://lock-1:8080', 'lock-1:8080', false],
    ['grpc://lock-1:9', 'lock-1:9', false],
    ['klocks://lock-1:8080', 'lock-1:8080', true],
    ['grpcs://lock-1:8080', 'lock-1:8080', true],
    ['  GrPcS://Lock-1:8080/  ', 'Lock-1:8080', true],
    ['KLOCK://10.0.0.1:1', '10.0.0.1:1', false],
    ['lock-1:8080', 'lock-1:8080', false],
    ['lock-1', 'lock-1:8080', false],
    ['klock://[::1]:7000', '[::1]:7000', false],
  ])('[K-136] reads %p as %s', (value, text, secure) => {
    expect(parseAddress('url', value)).toMatchObject({ text, secure });
  });

  it.each([
    ['', 'must not be empty'],
    ['   ', 'must not be empty'],
    ['klock://', 'names no host'],
    ['grpcs:// ', 'names no host'],
    ['http://lock-1:8080', 'must start with klock://'],
    ['klock://lock-1:0', 'must be host:port'],
    ['klock://lock-1:65536', 'must be host:port'],
    ['klock://lock-1:x', 'must be host:port'],
    ['klock://lock-1:8080/path', 'must be host:port'],
    ['klock://lo ck:8080', 'must be host:port'],
    ['klock://::1:8080', 'must be host:port'],
    ['klock://lo\0ck:8080', 'must be host:port'],
    ['klock://lo\ud800ck:8080', 'must be host:port'],
    [`klock://${'a'.repeat(254)}:8080`, 'must be host:port'],
    [42, 'must be a string'],
    [null, 'must be a string'],
  ])('[K-138] refuses %p, naming the option and the value', (value, problem) => {
    expect(() => parseAddress('url[1]', value)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', option: 'url[1]', value }) as Error,
    );
    expect(() => parseAddress('url[1]', value)).toThrow(`url[1] ${problem}`);
  });

  it.each([
    ['klock://me:secret@lock-1:8080', 'klock://***@lock-1:8080'],
    ['klock://me:secret@secret@lock-1:8080', 'klock://***@lock-1:8080'],
    ['klock://me:secret/secret@lock-1:8080', 'klock://***@lock-1:8080'],
    ['klock://me: secret #@lock-1:8080', 'klock://***@lock-1:8080'],
    ['http://me:secret@lock-1:8080', 'http://***@lock-1:8080'],
    ['me:secret/x@lock-1:8080', '***@lock-1:8080'],
  ])('[K-138] refuses the user part of %p without showing it: it may hold a password', (value, shown) => {
    let error: unknown;
    try {
      parseAddress('url', value);
    } catch (caught) {
      error = caught;
    }
    expect(error).toMatchObject({ code: 'INVALID_OPTION', option: 'url', value: shown });
    expect(`${(error as Error).message} ${JSON.stringify(error)}`).not.toContain('secret');
  });

  it('knows the addresses that are only this machine', () => {
    for (const host of ['localhost', 'LOCALHOST', '127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1']) {
      expect(isLoopback(host)).toBe(true);
    }
    for (const host of ['127.example.org', '10.0.0.1', 'localhost.example.org', '::2', '0.0.0.0']) {
      expect(isLoopback(host)).toBe(false);
    }
  });
});
