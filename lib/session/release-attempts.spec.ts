import { ReleaseAttempts } from './release-attempts.js';

describe('ReleaseAttempts', () => {
  it('[K-191] goes on after every transient answer, at most a second apart', () => {
    const attempts = new ReleaseAttempts();
    for (const verdict of ['unsent', 'unresolved', 'passing', 'final'] as const) {
      for (let turn = 0; turn < 10; turn++) {
        const step = attempts.ended(verdict, 0.999);
        expect(step.next).toBe('again');
        expect(step.next === 'again' ? step.pauseMs : Infinity).toBeLessThanOrEqual(1_000);
      }
    }
  });

  it('[K-193] takes LOCK_NOT_FOUND after an unanswered attempt for that attempt having worked', () => {
    const attempts = new ReleaseAttempts();
    attempts.ended('unresolved', 0);
    expect(attempts.ended('not-held', 0)).toEqual({ next: 'released' });
  });

  it.each(['not-held', 'session-over', 'other-server', 'conflict', 'other-protocol'] as const)(
    '[K-194] reports a lock the store had ended before as lost: %s',
    (verdict) => {
      expect(new ReleaseAttempts().ended(verdict, 0)).toEqual({ next: 'lost' });
    },
  );
});
