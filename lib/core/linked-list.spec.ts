import { LinkedList, type Linked } from './linked-list.js';

class Member implements Linked<Member> {
  list: LinkedList<Member> | undefined;
  before: Member | undefined;
  after: Member | undefined;

  constructor(readonly name: string) {}
}

const names = (list: LinkedList<Member>): string => [...list].map(({ name }) => name).join('');

describe('linked list', () => {
  it('keeps the order of arrival whoever leaves, and counts', () => {
    const list = new LinkedList<Member>();
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => new Member(name)) as [
      Member,
      Member,
      Member,
      Member,
    ];
    for (const member of [a, b, c, d]) list.add(member);
    list.delete(b);
    expect([names(list), list.size]).toEqual(['acd', 3]);
    list.delete(d);
    list.add(b);
    list.delete(a);
    expect([names(list), list.size]).toEqual(['cb', 2]);
    list.delete(c);
    list.delete(b);
    list.add(a);
    expect([names(list), list.size]).toEqual(['a', 1]);
  });

  it('a member of another list, or of none, is not taken out', () => {
    const [one, other] = [new LinkedList<Member>(), new LinkedList<Member>()];
    const [a, b] = [new Member('a'), new Member('b')];
    one.add(a);
    expect(other.delete(a)).toBe(false);
    expect(one.delete(b)).toBe(false);
    expect(one.delete(a)).toBe(true);
    expect(one.delete(a)).toBe(false);
    expect([one.size, other.size]).toEqual([0, 0]);
  });

  it('taking all leaves every member free for another list', () => {
    const [one, other] = [new LinkedList<Member>(), new LinkedList<Member>()];
    for (const name of 'abc') one.add(new Member(name));
    for (const member of one.takeAll()) other.add(member);
    expect([names(one), one.size, names(other), other.size]).toEqual(['', 0, 'abc', 3]);
  });
});
