import { Doubts } from './doubts.js';
import { Settlement } from './settlement.js';

describe('Doubts', () => {
  it('[K-160] are none when every attempt was answered busy on its own connection', () => {
    const doubts = new Doubts();
    doubts.answered('busy', 1);
    doubts.answered('unresolved', 1);
    doubts.answered('busy', 1);
    expect(doubts.open).toBe(false);
  });

  it('outlive a busy answer on another connection than the one that broke', () => {
    const doubts = new Doubts();
    doubts.answered('unresolved', 1);
    doubts.answered('busy', 2);
    expect(doubts.open).toBe(true);
  });

  it.each(['session-over', 'other-server', 'conflict'] as const)('end with %s', (verdict) => {
    const doubts = new Doubts();
    doubts.add(1);
    doubts.add(2);
    doubts.answered(verdict, 3);
    expect(doubts.open).toBe(false);
  });

  it.each(['passing', 'final', 'unsent'] as const)(
    'are not settled by a later copy that was refused: %s',
    (verdict) => {
      const doubts = new Doubts();
      doubts.add(1);
      doubts.answered(verdict, 1);
      expect(doubts.open).toBe(true);
    },
  );
});

function settling(...links: number[]): Settlement {
  const doubts = new Doubts();
  for (const link of links) doubts.add(link);
  return new Settlement(doubts);
}

describe('Settlement', () => {
  it('is done when a probe on the same connection finds the key busy', () => {
    const settlement = settling(1);
    expect(settlement.next).toEqual({ do: 'probe' });
    settlement.ended('busy', 1);
    expect(settlement.next).toEqual({ do: 'done' });
  });

  it('is done when a probe finds the grant, whatever became of the connection', () => {
    const settlement = settling(1, 2);
    settlement.granted();
    expect(settlement.next).toEqual({ do: 'done' });
  });

  it('spends the id when the connection broke and nothing is held, but not while the server keeps its place', () => {
    const settlement = settling(1);
    settlement.ended('busy', 2);
    expect(settlement.next).toEqual({ do: 'tombstone', afterMs: 1_100 });
    settlement.granted();
    expect(settlement.next).toEqual({ do: 'done' });
  });

  it('probes again when the id turns out to be in use', () => {
    const settlement = settling(1);
    settlement.ended('busy', 2);
    settlement.ended('conflict', 2);
    expect(settlement.next).toEqual({ do: 'probe' });
    settlement.ended('conflict', 2);
    expect(settlement.next).toEqual({ do: 'done' });
  });

  it('[K-163] is not done while nothing is answered', () => {
    const settlement = settling(1);
    for (const verdict of ['unresolved', 'unsent', 'passing', 'final'] as const) settlement.ended(verdict, 1);
    expect(settlement.next).toEqual({ do: 'probe' });
    expect(settlement.failures).toBe(4);
  });

  it('takes an unanswered tombstone for no doubt of its own', () => {
    const settlement = settling(1);
    settlement.ended('busy', 2);
    settlement.ended('unresolved', 3);
    expect(settlement.next.do).toBe('tombstone');
    settlement.ended('session-over', 3);
    expect(settlement.next).toEqual({ do: 'done' });
  });
});
