import { choice, count, describeFlags, duration, parseFlags, text, UsageError } from './flags.js';

const FLAGS = {
  addr: text('grpc://127.0.0.1:8080', 'where'),
  workers: count(32, 100, 'how many'),
  'lock-timeout': duration(2_000, 'how long'),
  strict: choice(true, 'whether'),
};

describe('flags of the command line', () => {
  it('are the defaults where nothing is given', () => {
    expect(parseFlags(FLAGS, [])).toEqual({
      addr: 'grpc://127.0.0.1:8080',
      workers: 32,
      'lock-timeout': 2_000,
      strict: true,
    });
  });

  it('are read with one dash or two, the value behind a blank or an equals sign', () => {
    expect(
      parseFlags(FLAGS, ['-workers', '4', '--addr=klock://a:1', '--lock-timeout', '1.5s']),
    ).toMatchObject({
      workers: 4,
      addr: 'klock://a:1',
      'lock-timeout': 1_500,
    });
  });

  it.each([
    ['500ms', 500],
    ['15s', 15_000],
    ['2m', 120_000],
    ['250', 250],
  ])('take %s as a time of %d ms', (given, ms) => {
    expect(parseFlags(FLAGS, ['--lock-timeout', given])['lock-timeout']).toBe(ms);
  });

  it('take a switch alone, with a value, and before the next flag', () => {
    expect(parseFlags(FLAGS, ['--strict=false']).strict).toBe(false);
    expect(parseFlags(FLAGS, ['--strict', 'false', '--workers', '1']).strict).toBe(false);
    expect(parseFlags(FLAGS, ['--strict', '--workers', '7'])).toMatchObject({ strict: true, workers: 7 });
  });

  it.each([
    [['--workers', '0'], '--workers must be a whole number from 1 to 100, got "0"'],
    [['--workers', '101'], '--workers must be a whole number from 1 to 100, got "101"'],
    [['--workers', '1e1'], '--workers must be a whole number from 1 to 100, got "1e1"'],
    [['--lock-timeout', 'soon'], '--lock-timeout must be a time'],
    [['--lock-timeout', '0.5ms'], '--lock-timeout must be a time'],
    [['--strict=maybe'], '--strict must be true or false'],
    [['--workers'], '--workers needs a value'],
    [['--other', '1'], 'unknown word "--other"'],
    [['--constructor', '1'], 'unknown word "--constructor"'],
    [['workers'], 'unknown word "workers"'],
  ])('refuse %j by name', (words, message) => {
    expect(() => parseFlags(FLAGS, words)).toThrow(UsageError);
    expect(() => parseFlags(FLAGS, words)).toThrow(message);
  });

  it('are described with their defaults, one line each', () => {
    expect(describeFlags(FLAGS).split('\n')).toHaveLength(4);
    expect(describeFlags(FLAGS)).toContain('--lock-timeout  how long (2s)');
  });
});
