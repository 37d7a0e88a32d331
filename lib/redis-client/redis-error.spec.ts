import { leadingCode, replyCode } from './index.js';

describe('replyCode', () => {
  it('is the first word of an error reply, whatever class the library has for it', () => {
    expect(replyCode(new Error('WRONGTYPE Operation against a key'))).toBe('WRONGTYPE');
    expect(replyCode({ message: 'NOAUTH Authentication required.' })).toBe('NOAUTH');
    expect(
      replyCode(Object.assign(new Error('all nodes failed'), { lastNodeError: new Error('LOADING x') })),
    ).toBe('LOADING');
  });

  it('is undefined for what no server said: then nobody knows what it did', () => {
    for (const error of [
      new Error('Connection is closed.'),
      new Error('Command timed out'),
      new Error('Socket closed unexpectedly'),
      new Error('connect ECONNREFUSED 127.0.0.1:6379'),
      undefined,
      'WRONGTYPE',
    ])
      expect(replyCode(error)).toBeUndefined();
    expect(leadingCode('ECONNRESETx y')).toBeUndefined();
  });
});
