import { expect, test } from 'bun:test';
import {
  type CheckOutcome,
  type HookResult,
  type HookResults,
  packHookResults,
  unpackHookResults,
} from './hook-results.ts';

const BEGUN = '2026-07-01T10:00:00.000Z';
const passed: CheckOutcome = {
  id: 'default.contains',
  verdict: true,
  data: { found: [], missing: ['walrus'] },
  log: null,
  error: null,
  fail_on_error: true,
  transformed: false,
  execution_time: 0.012,
  created_at: BEGUN,
};
const failed: CheckOutcome = {
  ...passed,
  id: 'default.webhook',
  name: 'the office',
  verdict: false,
  data: null,
  log: { said: 'walrus' },
  error: { message: 'no answer in time' },
  fail_on_error: false,
  transformed: true,
  created_at: '2026-07-01T10:00:00.001Z',
};
const result = (changes: Partial<HookResult>): HookResult => ({
  type: 'guardrail',
  id: 'words',
  guardrail_version_id: '0190a2b3-0000-7000-8000-000000000000',
  verdict: true,
  deny: false,
  async: false,
  skipped: false,
  transformed: false,
  checks: [passed, passed],
  feedback: null,
  execution_time: 0.2,
  created_at: BEGUN,
  ...changes,
});
const failing = {
  verdict: false,
  deny: true,
  async: true,
  transformed: true,
  checks: [passed, failed],
  feedback: { value: -5, weight: 1, metadata: { failedChecks: 'default.webhook' } },
};
const cases: Record<string, HookResult[]> = {
  'one that passes': [result({})],
  'one that fails': [result(failing)],
  'one that saw nothing': [result({ verdict: null, skipped: true, checks: [], guardrail_version_id: null })],
  'several of them': [result({}), result(failing)],
  none: [],
};
const stored = (value: unknown) => JSON.parse(JSON.stringify(value));

for (const [what, results] of Object.entries(cases)) {
  test(`${what}, packed and unpacked, is what it was, on either side`, () => {
    for (const whole of [
      { before_request_hooks: results, after_request_hooks: [] },
      { before_request_hooks: [], after_request_hooks: results },
    ]) {
      expect(unpackHookResults(stored(packHookResults(whole)))).toEqual(whole);
    }
  });

  test(`${what}, stored before anything was packed, is read as it was written`, () => {
    const whole = { before_request_hooks: results, after_request_hooks: results };
    expect(unpackHookResults(stored(whole))).toEqual(whole);
  });
}

test('what passes takes half the room', () => {
  const whole = { before_request_hooks: [result({})], after_request_hooks: [] };
  expect(JSON.stringify(packHookResults(whole)).length).toBeLessThan(JSON.stringify(whole).length / 2);
});

test('results to which another one was added are longer, so that the store knows which of two to keep', () => {
  const one = { before_request_hooks: [result(failing)], after_request_hooks: [] };
  const more = { before_request_hooks: [result(failing)], after_request_hooks: [result({ checks: [] })] };
  const length = (results: HookResults) => JSON.stringify(packHookResults(results)).length;
  expect(length(more)).toBeGreaterThan(length(one));
});
