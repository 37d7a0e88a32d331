import { SlotMap } from './slot-map.js';

interface Entry {
  readonly id: string;
}

const slotsOf = (map: SlotMap<Entry>): number =>
  (map as unknown as { readonly slots: unknown[] }).slots.length;

it('says what a Map says, in the same order', () => {
  const [map, model] = [new SlotMap<Entry>(), new Map<string, Entry>()];
  for (let step = 0; step < 5_000; step++) {
    const id = `id-${(step * 7_919) % 193}`;
    if (step % 5 < 3) {
      const entry = { id };
      map.set(id, entry);
      model.set(id, entry);
    } else {
      expect(map.delete(id)).toBe(model.delete(id));
    }
    expect([map.size, map.has(id), map.get(id)]).toEqual([model.size, model.has(id), model.get(id)]);
  }
  expect([[...map], [...map.values()]]).toEqual([[...model], [...model.values()]]);
});

it('entries may go while all are looked at', () => {
  const map = new SlotMap<Entry>();
  for (const id of ['a', 'b', 'c']) map.set(id, { id });
  const seen: string[] = [];
  for (const { id } of map.values()) {
    seen.push(id);
    map.delete(id);
  }
  expect([seen, map.size]).toEqual([['a', 'b', 'c'], 0]);
});

it('who was deleted while all are looked at is not seen, however many were', () => {
  const map = new SlotMap<Entry>();
  for (let index = 0; index < 1_000; index++) map.set(`${index}`, { id: `${index}` });
  const seen: string[] = [];
  for (const [id] of map) {
    seen.push(id);
    if (id === '0') for (let index = 1; index < 999; index++) map.delete(`${index}`);
  }
  expect([seen, map.size]).toEqual([['0', '999'], 2]);
});

it('[I12] takes no more slots than were in use at once, and none that many once it is empty', () => {
  const map = new SlotMap<Entry>();
  for (let round = 0; round < 1_000; round++) {
    map.set(`a${round}`, { id: 'a' });
    map.set(`b${round}`, { id: 'b' });
    map.delete(`a${round}`);
    map.delete(`b${round}`);
  }
  expect(slotsOf(map)).toBe(2);
  for (let index = 0; index < 10_000; index++) map.set(`${index}`, { id: 'x' });
  for (let index = 0; index < 10_000; index++) map.delete(`${index}`);
  expect([map.size, slotsOf(map)]).toEqual([0, 0]);
});
