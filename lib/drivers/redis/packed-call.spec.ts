import type { Question } from './operations.js';
import { UnpackedReply, packed } from './packed-call.js';

function resultsOf(reply: unknown, operations: number): unknown[] | undefined {
  const unpacked = UnpackedReply.of(reply, operations);
  if (unpacked === undefined) return undefined;
  const results: unknown[] = [unpacked.timeUs, unpacked.woken];
  unpacked.each(
    (words) => results.push(words),
    (list) => results.push({ list }),
  );
  return results;
}

const sending = { sentAt: { monoMs: 0, wallMs: 0 }, notAfterMs: 7, epoch: 0, node: 'n' };

describe('an operation on its way', () => {
  it('[D-56] says how many bytes each of its texts has, whatever stands in them', () => {
    const question: Question<unknown> = {
      name: 'acquire',
      tree: 'lock:{ä}',
      l2: '€\n\n1 2',
      who: 'lk_1 id',
      meta: '{"a":"𝄞"}',
      facts: {},
      words: ({ notAfterMs }) => `10 ${notAfterMs}`,
      read: () => undefined,
    };
    expect(packed(question, sending)).toBe('acquire 9 8 7 12 10 7\nlock:{ä}€\n\n1 2lk_1 id{"a":"𝄞"}');
  });
});

describe('a reply', () => {
  it('has a line or a list for each operation, in their order', () => {
    const lists = [
      ['busy', 'a worker', '-1'],
      ['state', 'b'],
    ];
    expect(resultsOf(['17\nid1,id2\n9\n\ngranted 9 1 5\n', ...lists], 4)).toEqual([
      '17',
      'id1,id2',
      ['9'],
      { list: lists[0] },
      ['granted', '9', '1', '5'],
      { list: lists[1] },
    ]);
    // Of a client that is set up to give buffers.
    expect(resultsOf([Buffer.from('17\n\n9')], 1)).toEqual(['17', '', ['9']]);
  });

  it.each([[undefined], ['17\n\nreleased'], [[]], [['17\n']], [['17\n\nreleased\nreleased']]])(
    '%j is none to one operation',
    (reply) => {
      expect(resultsOf(reply, 1)).toBeUndefined();
    },
  );

  it('whose lists are missing says nothing to those that have none', () => {
    expect(resultsOf(['17\n\n'], 1)).toEqual(['17', '', { list: [] }]);
  });
});
