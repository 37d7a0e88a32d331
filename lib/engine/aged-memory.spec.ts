import { AgedMemory } from './aged-memory.js';

const names = (memory: AgedMemory<number>): string[] => [...memory.entries()].map(([id]) => id);

describe('AgedMemory', () => {
  it('[K-077] [K-078] forgets the oldest beyond its bound', () => {
    const memory = new AgedMemory<number>(3, 0);
    ['a', 'b', 'c', 'd'].forEach((id, index) => memory.remember(id, index, 0));
    expect([memory.get('a', 0), memory.get('b', 0), memory.get('d', 0)]).toEqual([undefined, 1, 3]);
  });

  it('[K-081] counts an id that is remembered again as young', () => {
    const memory = new AgedMemory<number>(2, 100);
    memory.remember('a', 1, 0);
    memory.remember('b', 2, 0);
    memory.remember('a', 3, 50);
    memory.remember('c', 4, 50);
    expect(names(memory)).toEqual(['a', 'c']);
    expect([memory.get('a', 149), memory.get('a', 150)]).toEqual([3, undefined]);
  });

  it('[K-079] honours nothing at or beyond its age, and everything for ever without an age limit', () => {
    const aged = new AgedMemory<number>(9, 100);
    const ageless = new AgedMemory<number>(9, 0);
    for (const memory of [aged, ageless]) memory.remember('a', 1, 0);
    expect([aged.get('a', 99), aged.get('a', 100), aged.size]).toEqual([1, undefined, 0]);
    expect(ageless.get('a', 1e15)).toBe(1);
  });

  it('[K-080] holds no more than it remembers after a million evictions', () => {
    const memory = new AgedMemory<number>(100, 0);
    for (let i = 0; i < 1_000_000; i++) memory.remember(`id${i}`, i, i);
    expect([memory.size, names(memory).length, names(memory)[0]]).toEqual([100, 100, 'id999900']);
  });

  it('drops what is too old by and by, never in one long step', () => {
    const memory = new AgedMemory<number>(1_000, 100);
    for (let i = 0; i < 1_000; i++) memory.remember(`id${i}`, i, 0);
    memory.remember('new', 1, 200);
    expect(memory.size).toBeGreaterThan(990);
    for (let i = 0; i < 400; i++) memory.remember(`newer${i}`, i, 200);
    expect(memory.size).toBe(401);
  });

  it('remembers nothing with a bound of 0', () => {
    const memory = new AgedMemory<number>(0, 0);
    memory.remember('a', 1, 0);
    expect([memory.size, memory.get('a', 0)]).toEqual([0, undefined]);
  });
});
