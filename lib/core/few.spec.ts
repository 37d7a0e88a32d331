import { allOf, excluding, including, type Few } from './few.js';

const [a, b, c] = [{}, {}, {}];

it('a list of mostly one grows and shrinks by identity, and keeps its order', () => {
  let few: Few<object> = undefined;
  expect(allOf(few)).toEqual([]);
  for (const item of [a, b, c]) few = including(few, item);
  expect(allOf(few).map((item) => [a, b, c].indexOf(item))).toEqual([0, 1, 2]);
  few = excluding(few, b);
  few = excluding(few, {});
  expect(allOf(few).map((item) => [a, b, c].indexOf(item))).toEqual([0, 2]);
  few = excluding(few, a);
  expect(few).toBe(c);
  expect(excluding(few, c)).toBeUndefined();
});

it('a list may change while it is walked', () => {
  let few: Few<object> = including(including(undefined, a), b);
  const walked: object[] = [];
  for (const item of allOf(few)) {
    few = excluding(few, item);
    walked.push(item);
  }
  expect([walked.length, few]).toEqual([2, undefined]);
});
