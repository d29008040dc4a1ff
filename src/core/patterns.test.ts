import { expect, test } from 'bun:test';
import { compilePattern, isWithinReach } from './patterns.ts';

const faultOf = (rule: string): string => {
  try {
    compilePattern(rule);
  } catch (error) {
    return (error as Error).message;
  }
  return 'none';
};

test('patterns that people write are taken', () => {
  for (const rule of [
    '^\\d{3}-\\d{2}-\\d{4}$',
    '(?i)\\b(?:password|secret|token)\\b',
    '(?P<year>\\d{4})-(?<month>\\d{2})',
    '[^]a-z[:alpha:]\\]]{2,63}',
    '.{0,1000}',
    '\\p{Greek}{100}',
    '\\x{10FFFF}{1000}',
    'a{,5}',
    'curly { brace',
    `(?:${Array.from({ length: 300 }, (_, index) => `word${index}`).join('|')})`,
  ])
    expect([rule.slice(0, 30), faultOf(rule)]).toEqual([rule.slice(0, 30), 'none']);
});

test('patterns that no linear engine has, and patterns that are none, are refused', () => {
  for (const rule of ['(?=a)', '(a)\\1', '(', '[', 'a{1001}', '*'])
    expect(faultOf(rule)).toStartWith('is not a pattern of the RE2 kind: ');
});

for (const [name, rule] of Object.entries({
  'a group that is repeated': `(?:${'[ab]'.repeat(1_000)}){1000}`,
  'repetitions in a row': 'a{1000}'.repeat(580),
  'repetitions inside each other': '((a{10}){10}){30}',
  'a group that is never closed': `(${'[ab]{900}'.repeat(9)}`,
}))
  test(`${name} is refused at once, before it is compiled`, () => {
    const started = performance.now();
    expect(faultOf(rule)).toStartWith('is too large a pattern');
    expect(performance.now() - started).toBeLessThan(10_000);
  });

test('a pattern of too many characters is refused', () => {
  expect(faultOf('a|'.repeat(2_049))).toBe('is longer than 4096 characters');
});

test('a large pattern may look at short texts only', () => {
  const small = compilePattern('\\d{3}');
  const large = compilePattern('(?:a?){500}');
  expect(isWithinReach(small, 'a'.repeat(1 << 20))).toBe(true);
  expect(isWithinReach(large, 'a'.repeat(1 << 10))).toBe(true);
  expect(isWithinReach(large, 'a'.repeat(1 << 20))).toBe(false);
});
