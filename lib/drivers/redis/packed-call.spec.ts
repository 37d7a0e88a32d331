import type { Question } from './operations.js';
import { packed, unpacked } from './packed-call.js';

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
    expect(unpacked(['17\nid1,id2\ngranted 9\n\nreleased\n', ...lists], 4)).toEqual({
      timeUs: '17',
      woken: 'id1,id2',
      results: [['granted', '9'], lists[0], ['released'], lists[1]],
    });
    // Of a client that is set up to give buffers.
    expect(unpacked([Buffer.from('17\n\ngranted 9')], 1)?.results).toEqual([['granted', '9']]);
  });

  it.each([[undefined], ['17\n\nreleased'], [[]], [['17\n']], [['17\n\nreleased\nreleased']]])(
    '%j is none to one operation',
    (reply) => {
      expect(unpacked(reply, 1)).toBeUndefined();
    },
  );

  it('whose lists are missing says nothing to those that have none', () => {
    expect(unpacked(['17\n\n'], 1)?.results).toEqual([[]]);
  });
});
