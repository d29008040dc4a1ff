import { expect, test } from 'bun:test';
import { allowedModels, coversModels, storedModels } from './allowed-models.ts';

const listOf = (...names: string[]) => allowedModels(storedModels(names))!;

test('names match as they are, and a star stands for any text', () => {
  const list = listOf('gpt-4o', 'openai/*', 'claude-*-haiku', '*-mini');

  for (const name of ['gpt-4o', 'openai/x', 'openai/', 'claude-3-5-haiku', 'o3-mini'])
    expect({ name, isAllowed: list.allows(name) }).toEqual({ name, isAllowed: true });
  for (const name of ['gpt-4', 'GPT-4o', 'gpt-4o ', 'xopenai/x', 'claude-haiku', 'claude-3-haiku-2', '-min', ''])
    expect({ name, isAllowed: list.allows(name) }).toEqual({ name, isAllowed: false });
  expect(listOf('a*a').allows('a')).toBe(false);
  expect(listOf('a*b*c').allows('a-c-b')).toBe(false);
  expect(listOf('a*b*c').allows('abbc')).toBe(true);
});

test('no list allows everything, and many stars are matched without trying every way', () => {
  expect(allowedModels(null)).toBeUndefined();
  expect(listOf(`${'a*'.repeat(100)}b`).allows('a'.repeat(200_000))).toBe(false);
});

test('a list covers another when whatever that one allows is allowed', () => {
  const own = listOf('gpt-4o*', 'claude-x');

  expect(coversModels(own, ['gpt-4o-mini*', 'claude-x', 'gpt-4o'])).toBe(true);
  for (const list of [['gpt-*'], ['*'], ['claude-x', 'o3'], null, undefined])
    expect(coversModels(own, list)).toBe(false);
});
