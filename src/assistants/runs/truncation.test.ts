import { expect, test } from 'bun:test';
import { trimmed, type Unit } from './truncation.ts';

/** `u1 a2 u3`: who speaks, and how many tokens it takes. */
const history = (text: string): (Unit & { name: string })[] =>
  text
    .split(' ')
    .map((name) => ({ name, role: name[0] === 'u' ? 'user' : 'assistant', tokens: Number(name.slice(1)) }));
const kept = (text: string, budget: number) =>
  trimmed(history(text), budget)
    ?.map(({ name }) => name)
    .join(' ') ?? null;

test('what fits is kept whole', () => {
  expect(kept('u1 a2 u3', 6)).toBe('u1 a2 u3');
  expect(trimmed([], 0)).toEqual([]);
});

test('what is nearest to the middle goes first, and the newest never', () => {
  expect(kept('u1 a2 u3 a4 u5 a6 u7', 24)).toBe('u1 a2 u3 u5 a6 u7');
  expect(kept('u1 a2 u3 a4 u5 a6 u7', 21)).toBe('u1 a2 u5 a6 u7');
  expect(kept('u1 a2 u3 a4 u5 a6 u7', 8)).toBe('u1 u7');
});

test('the first of the user goes last, and only when the newest leaves no place for it', () => {
  expect(kept('a9 u5 a1 u6', 11)).toBe('u5 u6');
  expect(kept('u5 u6', 10)).toBe('u6');
});

test('a newest message that does not fit leaves nothing to ask', () => {
  expect(kept('u1 u9', 8)).toBeNull();
});
