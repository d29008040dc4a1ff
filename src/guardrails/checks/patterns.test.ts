import { expect, test } from 'bun:test';
import { factsOf, faultsOf, judge } from '../../../test/guardrails/facts.ts';
import { spanOf } from '../check.ts';
import { contains } from './contains.ts';
import { endsWith } from './ends-with.ts';
import { regexMatch } from './regex-match.ts';
import { regexReplace } from './regex-replace.ts';
import { startsWith } from './starts-with.ts';

const verdict = async (...call: Parameters<typeof judge>) => (await judge(...call)).verdict;
const spanWith = (one: Parameters<typeof spanOf>[0], given: unknown) => spanOf(one, one.parameters().parse(given));

for (const [rule, text, matches] of [
  ['^\\d{3}$', '123', true],
  ['^\\d{3}$', '1234', false],
  ['(?i)secret', 'a SECRET word', true],
  ['^$', '', true],
  ['é', 'caf\u00e9', true],
  ['^.$', '💡', true],
  ['a\\x00b', 'a\0b', true],
] as const) {
  test(`regexMatch: ${rule} ${matches ? 'matches' : 'does not match'} ${JSON.stringify(text)}, and not turns it round`, async () => {
    expect(await verdict(regexMatch, { rule }, text)).toBe(matches);
    expect(await verdict(regexMatch, { rule, not: true }, text)).toBe(!matches);
  });
}

test('regexMatch looks at every message and at tool calls, and says where it found something', async () => {
  const facts = factsOf([
    { text: 'harmless', role: 'system' },
    { text: '{"query":"drop table users"}', role: 'assistant', kind: 'tool_call', where: 'messages[1].tool_calls[0]' },
    'harmless as well',
  ]);
  const result = await judge(regexMatch, { rule: 'drop table', not: true }, facts);
  expect(result).toEqual({
    verdict: false,
    data: { rule: 'drop table', not: true, where: 'messages[1].tool_calls[0]' },
  });
});

for (const rule of ['(a+)+$', '(x+x+)+y', '^(([a-z])+.)+[A-Z]([a-z])+$', '(.*a){20}', '(a|aa)+$', '(?:a?){50}a{50}']) {
  test(`regexMatch: ${rule} takes bounded time on a text made against it`, async () => {
    const started = performance.now();
    await judge(regexMatch, { rule }, `${'a'.repeat(200_000)}!`);
    await judge(regexMatch, { rule }, `${'x'.repeat(200_000)}!`);
    expect(performance.now() - started).toBeLessThan(10_000);
  });
}

test('a text that is too long for a large rule is not judged, and so does not pass', async () => {
  const text = 'a'.repeat(1 << 20);
  for (const one of [regexMatch, regexReplace]) {
    const started = performance.now();
    const result = await judge(one, { rule: '(?:a?b?){400}' }, text);
    expect(result).toMatchObject({ verdict: false, error: 'a text is too long for this rule' });
    expect(performance.now() - started).toBeLessThan(10_000);
  }
});

test('patterns that cannot be used are refused with their path', () => {
  expect(faultsOf(regexMatch, { rule: '(' })[0]).toStartWith('rule: is not a pattern of the RE2 kind');
  expect(faultsOf(regexMatch, { rule: '(?=a)' })[0]).toStartWith('rule: is not a pattern of the RE2 kind');
  expect(faultsOf(regexMatch, { rule: '(a)\\1' })[0]).toStartWith('rule: is not a pattern of the RE2 kind');
  expect(faultsOf(regexMatch, { rule: '((a{1000}){1000}){1000}' })[0]).toStartWith('rule: ');
  for (const one of [regexMatch, regexReplace]) {
    expect(faultsOf(one, { rule: `(?:${'[ab]'.repeat(1_000)}){1000}` })[0]).toStartWith('rule: is too large a pattern');
    expect(faultsOf(one, { rule: 'a'.repeat(4_097) })).toEqual(['rule: is longer than 4096 characters']);
  }
  expect(faultsOf(regexMatch, { rule: '' })).toEqual(['rule: give a pattern']);
  expect(faultsOf(regexMatch, {})[0]).toStartWith('rule: ');
  expect(faultsOf(regexMatch, { rule: 'a', nto: true })[0]).toContain('nto');
  expect(faultsOf(regexReplace, { rule: '/a/y' })).toEqual(['rule: has the flag "y"; known are g, i, m, s and u']);
});

test('a pattern with a bound can guard a stream in windows, one without cannot', () => {
  expect(spanWith(regexMatch, { rule: '\\b\\d{3}-\\d{4}\\b', not: true })).toBe(20);
  expect(spanWith(regexMatch, { rule: 'a|bcd', not: true })).toBe(10);
  expect(spanWith(regexMatch, { rule: 'a+', not: true })).toBe('whole');
  expect(spanWith(regexMatch, { rule: 'a.*b', not: true })).toBe('whole');
  expect(spanWith(regexMatch, { rule: 'abc' })).toBe('whole');
  expect(spanWith(regexReplace, { rule: 'a{2,40}' })).toBe(84);
  expect(spanWith(contains, { words: ['no', 'never'], operator: 'none' })).toBe(5);
  expect(spanWith(contains, { words: ['no'], operator: 'all' })).toBe('whole');
});

test('regexReplace replaces every hit in every text and leaves the rest as it is', async () => {
  const facts = factsOf([
    'call 555-1234 or 555-9876',
    'nothing',
    { text: 'at 555-0000', kind: 'tool_result', role: 'tool' },
  ]);
  const result = await judge(regexReplace, { rule: '\\d{3}-\\d{4}' }, facts);
  expect(result.verdict).toBe(true);
  expect(result.transformed).toEqual({
    texts: [
      { part: 0, text: 'call [REDACTED] or [REDACTED]' },
      { part: 2, text: 'at [REDACTED]' },
    ],
  });
  expect(JSON.stringify(result.data)).not.toContain('555');
});

test('regexReplace takes /pattern/flags, a text of its own, and puts in no group of the match', async () => {
  const result = await judge(regexReplace, { rule: '/(secret)/gi', redactText: '$1 & $&' }, 'A Secret SECRET');
  expect(result.transformed).toEqual({ texts: [{ part: 0, text: 'A $1 & $& $1 & $&' }] });
});

test('regexReplace fails on detection when told so, and passes when nothing is found', async () => {
  expect(await verdict(regexReplace, { rule: 'x', failOnDetection: true }, 'axb')).toBe(false);
  expect(await judge(regexReplace, { rule: 'x', failOnDetection: true }, 'ab')).toMatchObject({ verdict: true });
  expect((await judge(regexReplace, { rule: 'x*' }, 'ab')).transformed).toBeUndefined();
});

test('regexReplace gives up in the end and then fails: a hit may look through the rest of the text each time', async () => {
  const started = performance.now();
  const result = await judge(regexReplace, { rule: 'a(.*b)?' }, 'a'.repeat(300_000));
  expect(result).toMatchObject({ verdict: false, error: 'the rule took more than 1000 ms' });
  expect(performance.now() - started).toBeLessThan(10_000);
});

for (const [operator, text, passes] of [
  ['any', 'an apple', true],
  ['any', 'a plum', false],
  ['all', 'apple and pear', true],
  ['all', 'apple', false],
  ['none', 'a plum', true],
  ['none', 'pineapple', false],
  ['none', '', true],
] as const) {
  test(`contains: ${operator} of apple, pear ${passes ? 'holds' : 'does not hold'} in ${JSON.stringify(text)}`, async () => {
    expect(await verdict(contains, { words: ['apple', 'pear'], operator }, text)).toBe(passes);
  });
}

test('contains sees words over all messages and minds their case unless told not to', async () => {
  expect(await verdict(contains, { words: ['apple', 'pear'], operator: 'all' }, ['apple', 'x', 'pear'])).toBe(true);
  expect(await verdict(contains, { words: ['apple'], operator: 'none' }, ['an apple', 'later'])).toBe(false);
  expect(await verdict(contains, { words: ['apple'] }, 'APPLE')).toBe(false);
  expect(await verdict(contains, { words: ['Apple'], caseSensitive: false }, 'aPPLE')).toBe(true);
  expect(faultsOf(contains, { words: [] })).toEqual(['words: give at least one']);
  expect(faultsOf(contains, { words: ['a'], operator: 'some' })).toEqual(['operator: give "any", "all" or "none"']);
});

test('startsWith and endsWith look at the last message of a request and at every choice of an answer', async () => {
  expect(await verdict(startsWith, { prefix: 'Dear' }, ['Hello', 'Dear all'])).toBe(true);
  expect(await verdict(startsWith, { prefix: 'Dear' }, ['Dear all', 'Hello'])).toBe(false);
  expect(await verdict(startsWith, { prefix: 'Dear' }, factsOf(['Dear a', 'Hello'], { on: 'output' }))).toBe(false);
  expect(await verdict(endsWith, { suffix: 'bye' }, 'and bye.')).toBe(true);
  expect(await verdict(endsWith, { suffix: 'bye' }, 'bye now')).toBe(false);
  expect(await verdict(endsWith, { suffix: 'bye', not: true }, 'bye now')).toBe(true);
  expect(await verdict(endsWith, { suffix: 'bye' }, [])).toBe(false);
  expect(await verdict(endsWith, { suffix: '💡' }, 'idea 💡')).toBe(true);
});
