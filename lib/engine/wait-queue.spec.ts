import { countLooks } from './links.spec-support.js';
import { TableEntry } from './table-entry.js';
import { WaitQueue } from './wait-queue.js';

function entry(arrival: number): TableEntry {
  const made = new TableEntry(['t']);
  made.arrival = arrival;
  return made;
}

function arrivals(queue: WaitQueue): number[] {
  const seen: number[] = [];
  for (let at = queue.head; at !== undefined; at = at.behind) seen.push(at.arrival);
  return seen;
}

describe('WaitQueue', () => {
  it('keeps arrival order whatever the order of insertion', () => {
    const queue = new WaitQueue();
    for (const arrival of [5, 9, 1, 7, 3, 8, 2, 6, 4]) queue.insert(entry(arrival));
    expect(arrivals(queue)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('stays whole when entries leave from its head, middle, end and the place last used', () => {
    const queue = new WaitQueue();
    const entries = [1, 3, 5, 7, 9].map(entry);
    entries.forEach((each) => queue.insert(each));
    const late = entry(4);
    queue.insert(late);
    queue.remove(late);
    queue.insert(entry(6));
    for (const index of [0, 2, 4]) queue.remove(entries[index] ?? late);
    queue.insert(entry(2));
    queue.insert(entry(10));
    expect(arrivals(queue)).toEqual([2, 3, 6, 7, 10]);
  });

  it('[WK-38] takes back a thousand entries among a thousand others, in order, without walking the queue for each', () => {
    const queue = new WaitQueue();
    const others = Array.from({ length: 1_000 }, (_, i) => entry(2 * i + 2));
    others.forEach((other) => queue.insert(other));
    const looks = countLooks(others);
    for (let i = 0; i < 1_000; i++) queue.insert(entry(2 * i + 1));
    expect(looks.count).toBeLessThan(10_000);
    expect(arrivals(queue)).toEqual(Array.from({ length: 2_000 }, (_, i) => i + 1));
  });
});
