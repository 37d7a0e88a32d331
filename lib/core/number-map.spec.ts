import { NumberMap } from './number-map.js';

interface Entry {
  readonly of: number;
}

it('says what a Map says, whatever comes and goes', () => {
  const seed = 20_261_129;
  let state = seed;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const [map, model] = [new NumberMap<Entry>(), new Map<number, Entry>()];
  let next = 2 ** 31 - 5_000;
  for (let step = 0; step < 20_000; step++) {
    const growing = step % 10_000 < 5_000;
    if (random(10) < (growing ? 6 : 3)) {
      const number = random(50) === 0 ? 1 + random(5_000) : ++next;
      const entry = { of: number };
      map.set(number, entry);
      model.set(number, entry);
    } else {
      const keys = [...model.keys()].slice(0, 400);
      const number = random(20) === 0 ? next + 1 + random(100) : (keys[random(keys.length)] ?? 7);
      if (map.delete(number) !== model.get(number)) throw new Error(`seed ${seed}, step ${step}: ${number}`);
      model.delete(number);
    }
    if (step % 2_000 !== 0) continue;
    const keys = [...model.keys()].sort((a, b) => a - b);
    expect({ seed, step, keys: map.keys() }).toEqual({ seed, step, keys });
    expect([map.size, map.sum]).toEqual([model.size, keys.reduce((sum, key) => sum + key, 0)]);
    expect(map.values()).toEqual(keys.map((key) => model.get(key)));
    expect(keys.every((key) => map.has(key))).toBe(true);
  }
});

it('[I12] is small again once everything is gone', () => {
  const map = new NumberMap<Entry>();
  const places = (): number => (map as unknown as { readonly entries: unknown[] }).entries.length;
  for (let number = 1; number <= 100_000; number++) map.set(number, { of: number });
  expect(map.get(77_777)).toEqual({ of: 77_777 });
  for (let number = 1; number <= 100_000; number++) map.delete(number);
  expect([map.size, map.get(5), map.has(5), map.delete(5)]).toEqual([0, undefined, false, undefined]);
  expect(places()).toBeLessThanOrEqual(4_096);
  map.set(5, { of: 5 });
  map.clear();
  expect([map.size, map.sum, places()]).toEqual([0, 0, 16]);
});
