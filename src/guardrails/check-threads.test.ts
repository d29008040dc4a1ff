import { afterAll, expect, test } from 'bun:test';
import { partsOf } from '../../test/guardrails/facts.ts';
import { ownFile } from '../core/program.ts';
import { createCheckThreads } from './check-threads.ts';
import { prepareInline } from './inline.ts';

const threads = createCheckThreads({ workerUrl: ownFile('guardrails/check-worker') });
afterAll(() => threads.close());

const prepared = (check: Readonly<Record<string, unknown>>) => prepareInline(check).checks.input[0]!;
const look = (check: Readonly<Record<string, unknown>>, text: string, owner = 'key') =>
  threads.look({ owner, prepared: prepared(check), on: 'input', texts: partsOf([text]) });

test('a check finds in a thread what it finds here, and says how long it took', async () => {
  const { result, ms } = await look({ 'default.pii': { redact: true } }, 'Write to ann@example.com.');
  expect(result).toEqual({
    verdict: true,
    data: { found: { EMAIL_ADDRESS: 1 }, where: ['messages[0].content'], redacted: true },
    transformed: { texts: [{ part: 0, text: 'Write to {{EMAIL_ADDRESS_1}}.' }] },
  });
  expect(ms).toBeGreaterThan(0);
});

test('patterns and schemas are compiled there from what was given', async () => {
  const rule = { 'default.regexMatch': { rule: '^b' } };
  expect((await look(rule, 'abc')).result.verdict).toBe(false);
  expect((await look(rule, 'bc')).result.verdict).toBe(true);
  const schema = { 'default.jsonSchema': { schema: { $ref: '#/$defs/a', $defs: { a: { type: 'object' } } } } };
  expect((await look(schema, '{"a":1}')).result.verdict).toBe(true);
});

test('a key whose line is full is told so, and another one is served', async () => {
  const slow = { 'default.pii': {} };
  const text = 'a@b.c '.repeat(2_000);
  const many = Array.from({ length: 300 }, () => look(slow, text, 'greedy'));
  const other = await look(slow, 'nothing', 'modest');
  expect(other.result.verdict).toBe(true);
  const refused = (await Promise.all(many)).filter(({ result }) =>
    result.error?.includes('checks of this key are waiting'),
  );
  expect(refused.length).toBeGreaterThan(50);
  expect(refused.every(({ result }) => result.verdict === false)).toBe(true);
});

test('short texts of one key wait by the hundreds while a check loads what it needs', async () => {
  const many = Array.from({ length: 1_000 }, () =>
    look({ 'default.language': { language: 'de' } }, 'Guten Morgen, wie geht es dir?'),
  );
  expect((await Promise.all(many)).every(({ result }) => result.verdict)).toBe(true);
});
