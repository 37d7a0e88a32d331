/** Links of whoever stands in a {@link LinkedList}; written by the list only. */
export interface Linked<T extends Linked<T>> {
  list: LinkedList<T> | undefined;
  before: T | undefined;
  after: T | undefined;
}

/** A set in order of arrival whose links live in its members: coming and going costs no memory and no search. */
export class LinkedList<T extends Linked<T>> implements Iterable<T> {
  private head: T | undefined = undefined;
  private tail: T | undefined = undefined;
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** Puts a member of no list at the end. */
  add(member: T): void {
    member.list = this;
    member.before = this.tail;
    if (this.tail === undefined) this.head = member;
    else this.tail.after = member;
    this.tail = member;
    this.count++;
  }

  /** Takes a member out; nothing happens to one that stands elsewhere or nowhere. Returns whether it was here. */
  delete(member: T): boolean {
    if (member.list !== this) return false;
    const { before, after } = member;
    if (before === undefined) this.head = after;
    else before.after = after;
    if (after === undefined) this.tail = before;
    else after.before = before;
    member.list = undefined;
    member.before = undefined;
    member.after = undefined;
    this.count--;
    return true;
  }

  /** Empties the list and returns who stood in it. */
  takeAll(): T[] {
    const members = [...this];
    for (const member of members) this.delete(member);
    return members;
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (let member = this.head; member !== undefined; member = member.after) yield member;
  }
}
