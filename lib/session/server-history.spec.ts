import { ServerHistory } from './server-history.js';

describe('ServerHistory', () => {
  const meetings = (...ids: string[]): { told: boolean[]; history: ServerHistory } => {
    const history = new ServerHistory();
    return { told: ids.map((id) => history.meet(id)), history };
  };

  it('takes new ids for restarts', () => {
    const { told, history } = meetings('a', 'b', 'c', 'c', '');
    expect(told).toEqual([false, false, false, false, false]);
    expect(history.alternating).toBe(false);
  });

  it('[K-182] tells once that servers alternate behind one address, for as long as they do', () => {
    const { told, history } = meetings('a', 'b', 'a', 'b');
    expect(told).toEqual([false, false, true, false]);
    expect(history.alternating).toBe(true);
  });

  it('believes in a restart again once a new id follows', () => {
    const { history } = meetings('a', 'b', 'a', 'c');
    expect(history.alternating).toBe(false);
    expect(history.meet('a')).toBe(true);
  });
});
