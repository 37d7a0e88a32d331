import {
  Ask,
  ClientFrame,
  Outcome,
  ServerFrame,
  type ChannelAnswer,
  type ChannelOperation,
} from './index.js';

const operation: ChannelOperation = {
  ask: Ask.Acquire,
  l1: 't',
  l2: 'a',
  waitMs: 300,
  span: 2,
  metadata: { j: 'x' },
  of: 0,
  keepMs: 0,
};
const end = { ...operation, l1: '', l2: '', waitMs: 0, span: 1, metadata: undefined };
const answer: ChannelAnswer = {
  operation: 3,
  outcome: Outcome.Granted,
  token: 'lk',
  fence: 2n ** 53n,
  span: 1,
  error: undefined,
  report: undefined,
};
const noClient = { hello: undefined, received: 0, renewal: undefined, firstOperation: 0, goodbye: false };
const noServer = {
  welcome: undefined,
  received: 0,
  renewed: undefined,
  pages: [],
  firstMessage: 0,
  answers: [],
  ended: undefined,
};
const error = { status: 409, code: 'X', message: '', serverId: '', protocolVersion: '1' };

/** Bytes written out by hand from the field table, not by this encoder. */
const clients: readonly [string, ClientFrame, string][] = [
  [
    'a hello',
    {
      ...noClient,
      operations: [],
      received: 5,
      hello: {
        protocolVersion: '1',
        expectedServer: 's',
        sessionId: 'q',
        leaseMs: 300,
        incarnation: 2,
        client: 'c',
        host: 'h',
      },
    },
    '0a 14 0a0131 120173 1a0171 20ac02 2802 320163 3a0168  10 05',
  ],
  [
    'an acquire, a release that keeps the key and a cancel',
    {
      ...noClient,
      firstOperation: 7,
      operations: [
        operation,
        { ...end, ask: Ask.Release, of: 1, keepMs: 5 },
        { ...end, ask: Ask.Cancel, of: 200 },
      ],
    },
    '20 07  2a 13 0a0174 120161 18ac02 2002 2a06 0a016a 120178  2a 04 3801 4005  2a 03 30c801',
  ],
  [
    'a wait without end and an inspection',
    {
      ...noClient,
      firstOperation: 1,
      operations: [
        { ...operation, metadata: undefined, span: 1, waitMs: Infinity },
        { ...end, ask: Ask.Inspect, l1: 't' },
      ],
    },
    '20 01  2a 0c 0a0174 120161 188080808008  2a 05 0a0174 4801',
  ],
  [
    'a renewal and a goodbye',
    {
      ...noClient,
      operations: [],
      goodbye: true,
      renewal: {
        number: 1,
        lastOperation: 2,
        lastMessage: 3,
        grants: 4,
        digest: 2n ** 63n,
        asked: 5,
        askedSum: 300,
      },
    },
    '1a 18 0801 1002 1803 2004 2880808080808080808001 3005 38ac02  30 01',
  ],
];
const servers: readonly [string, ServerFrame, string][] = [
  [
    'a welcome',
    {
      ...noServer,
      welcome: { protocolVersion: '1', serverId: 's', sessionId: 'q', leaseMs: 300, incarnation: 1 },
    },
    '0a 0e 0a0131 120173 1a0171 20ac02 2801',
  ],
  [
    'a grant beyond the range of doubles, a busy and a refusal',
    {
      ...noServer,
      received: 9,
      firstMessage: 4,
      answers: [
        { ...answer, fence: 2n ** 53n + 1n },
        { ...answer, outcome: Outcome.Busy, token: '', fence: 0n },
        { ...answer, outcome: Outcome.Refused, token: '', fence: 0n, error },
      ],
    },
    '10 09  28 04  32 0f 0803 1a026c6b 208180808080808010  32 04 0803 1001  32 0f 0803 1006 3209 089903 120158 2a0131',
  ],
  [
    'a renewal answered with a page, and an end',
    {
      ...noServer,
      renewed: { number: 1, leaseMs: 300, error: undefined },
      pages: [{ renewal: 1, held: [1, 300], waiting: [2], last: true, lastMessage: 9 }],
      ended: error,
    },
    '1a 05 0801 10ac02  22 0e 0801 1203 01ac02 1a01 02 2001 2809  3a 09 089903 120158 2a0131',
  ],
];

describe('frames of a channel', () => {
  it.each(clients)('[K-025] %s has exactly the bytes of the field table', (_, frame, text) => {
    const bytes = Buffer.from(text.replaceAll(' ', ''), 'hex');
    expect(ClientFrame.encode(frame).toString('hex')).toBe(bytes.toString('hex'));
    expect(ClientFrame.decode(bytes)).toEqual(frame);
  });

  it.each(servers)('[K-025] %s has exactly the bytes of the field table', (_, frame, text) => {
    const bytes = Buffer.from(text.replaceAll(' ', ''), 'hex');
    expect(ServerFrame.encode(frame).toString('hex')).toBe(bytes.toString('hex'));
    expect(ServerFrame.decode(bytes)).toEqual(frame);
  });

  it('a report comes out as it went in', () => {
    const report = {
      locked: true,
      holders: [
        {
          l1: 't',
          l2: '',
          fence: 7n,
          session: 's',
          client: '',
          host: 'worker-1:42',
          metadata: { __proto__: undefined, 'a b': 'ü' } as never,
          heldMs: 1,
          leaseLeftMs: 0,
        },
      ],
      waiters: [{ l1: 't', l2: 'a', session: 's', client: 'c', waitedMs: 3 }],
      waiterCount: 500,
    };
    const frame = {
      ...noServer,
      answers: [{ ...answer, outcome: Outcome.Reported, token: '', fence: 0n, report }],
    };
    const [read] = ServerFrame.decode(ServerFrame.encode(frame)).answers;
    expect(read?.report).toEqual({
      ...report,
      holders: [{ ...report.holders[0], metadata: { 'a b': 'ü' } }],
    });
  });

  it('[K-026] unknown fields are passed over, a counter beyond 2^53 and a cut message are refused', () => {
    const unknown = Buffer.from('a20601ff 10 05'.replaceAll(' ', ''), 'hex');
    expect(ClientFrame.decode(unknown).received).toBe(5);
    expect(() => ClientFrame.decode(Buffer.from('10ffffffffffffffffff01', 'hex'))).toThrow(
      'larger than 2^53',
    );
    expect(() => ClientFrame.decode(Buffer.from('2a050a', 'hex'))).toThrow('longer than its message');
  });

  it('a label named like a property of objects is a label', () => {
    const label = Buffer.from('2a10 2a0e 0a09 5f5f70726f746f5f5f 1201 78'.replaceAll(' ', ''), 'hex');
    const [read] = ClientFrame.decode(label).operations;
    expect(Object.entries(read?.metadata ?? {})).toEqual([['__proto__', 'x']]);
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });
});
