import { SessionGrants, type SessionGrant } from './session-grants.js';

const grant = (token: string): SessionGrant => ({ token, place: -1 }) as SessionGrant;

it('knows what was added and not removed, by itself and by its token', () => {
  const grants = new SessionGrants();
  const [a, b, c, d] = [grant('a'), grant('b'), grant('c'), grant('d')];
  for (const one of [a, b, c]) grants.add(one);
  expect([grants.has(a), grants.has(d), grants.size]).toEqual([true, false, 3]);
  expect([grants.withToken('b'), grants.withToken('d')]).toEqual([b, undefined]);
  grants.remove(a);
  grants.remove(a);
  grants.remove(d);
  grants.add(d);
  expect([grants.withToken('a'), grants.withToken('d')]).toEqual([undefined, d]);
  expect(grants.all().map(({ token }) => token)).toEqual(['c', 'b', 'd']);
  grants.remove(d);
  expect([grants.has(d), grants.has(b), grants.has(c), grants.size]).toEqual([false, true, true, 2]);
});

it('[I12] nothing is left after the end of the session', () => {
  const grants = new SessionGrants();
  const one = grant('a');
  grants.add(one);
  expect(grants.withToken('a')).toBe(one);
  grants.clear();
  expect([grants.has(one), grants.withToken('a'), grants.size, one.place]).toEqual([false, undefined, 0, -1]);
});
