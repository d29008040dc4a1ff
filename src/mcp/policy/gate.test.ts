import { describe, expect, test } from 'bun:test';
import { type CapabilityType, capabilityOf, type Pinned } from '../message/capability.ts';
import { matcherOf, templateMatcher } from '../message/names.ts';
import { policyOf } from '../server/policy-rules.ts';
import { gateFor, isOpenTo, type PolicyFacts } from './gate.ts';

const none = {
  tool: new Set<string>(),
  prompt: new Set<string>(),
  resource: new Set<string>(),
  resource_template: new Set<string>(),
};
const facts = (given: Partial<PolicyFacts> = {}): PolicyFacts => ({
  off: none,
  known: none,
  tools: new Map(),
  isFull: false,
  opensToAll: true,
  users: new Map(),
  ...given,
});
const policy = (given: Parameters<typeof policyOf>[0] = {}) => policyOf(given, { id: 'id', slug: 'server' });
const nobody = { claims: {} };
const off = (type: CapabilityType, ...names: string[]) => facts({ off: { ...none, [type]: new Set(names) } });
const seen = (definition: object) => capabilityOf('tools', definition)!;

test('a server without rules watches nothing', () => {
  expect(gateFor(policy(), facts(), nobody).isWatching).toBe(false);
  expect(gateFor(policy(), off('tool', 'a'), nobody).isWatching).toBe(true);
  expect(gateFor(policy({ tool_pinning: { mode: 'flag' } }), facts(), nobody).isWatching).toBe(true);
  expect(gateFor(policy({ prompt_authorization: { a: { required_claims: ['x'] } } }), facts(), nobody).isWatching).toBe(
    true,
  );
});

test('what is switched off can neither be seen nor used, in any spelling that a server may take for it', () => {
  const gate = gateFor(policy(), off('tool', 'delete_all'), nobody);
  for (const name of [
    'delete_all',
    'DELETE_ALL',
    ' delete_all ',
    'delete_\u200ball',
    'ｄelete_all',
    'delete_all\u0000',
  ])
    expect([name, gate.refusal('tool', name)]).toEqual([name, 'unavailable']);
  for (const name of ['delete', 'delete_all_2', 'deleteall', '']) expect(gate.refusal('tool', name)).toBeNull();
  expect(gate.refusal('prompt', 'delete_all')).toBeNull();
  expect(gate.shows(seen({ name: 'delete_all' }))).toBe(false);
  expect(gate.shows(seen({ name: 'other' }))).toBe(true);
});

test('a thing of almost the same name stays, if the server has one', () => {
  const tools = new Map<string, Pinned>([['Delete', { hash: 'x', approvedHash: 'x' }]]);
  const known = { ...none, tool: new Set(['Delete']) };
  const gate = gateFor(policy(), { ...off('tool', 'delete'), tools, known }, nobody);
  expect([gate.refusal('tool', 'delete'), gate.refusal('tool', 'Delete'), gate.refusal('tool', 'DELETE')]).toEqual([
    'unavailable',
    null,
    'unavailable',
  ]);
});

test('a template that is switched off takes all its resources along', () => {
  const gate = gateFor(policy(), off('resource_template', 'file:///{+path}/x'), nobody);
  expect(gate.refusal('resource', 'file:///etc/passwd/x')).toBe('unavailable');
  expect(gate.refusal('resource', 'file:///etc/passwd')).toBeNull();
  expect(gate.refusal('resource_template', 'file:///{+path}/x')).toBe('unavailable');
});

describe('claims decide', () => {
  const rules = policy({
    tool_authorization: {
      'delete_*': { required_claims: ['email'] },
      delete_all: { claim_values: { groups: { values: ['admins'], matchType: 'contains' } } },
    },
  });
  const cases: readonly [string, Record<string, unknown>, boolean][] = [
    ['read', {}, true],
    ['delete_one', {}, false],
    ['delete_one', { email: '' }, false],
    ['delete_one', { email: 'a@example.com' }, true],
    ['DELETE_one', {}, false],
    ['delete_all', { email: 'a@example.com' }, false],
    ['delete_all', { groups: ['admins'] }, false],
    ['delete_all', { email: 'a@example.com', groups: ['staff', 'admins'] }, true],
    ['delete_all', { email: 'a@example.com', groups: ['admins2'] }, false],
  ];
  for (const [name, claims, may] of cases) {
    test(`${name} with ${JSON.stringify(claims)}: ${may}`, () => {
      const gate = gateFor(rules, facts(), { claims });
      expect(gate.refusal('tool', name)).toBe(may ? null : 'unavailable');
      expect(gate.shows(seen({ name }))).toBe(may);
    });
  }
});

describe('a pinned definition', () => {
  const shown = seen({ name: 'a', description: 'one' });
  const block = policy({ tool_pinning: { mode: 'block' } });
  const strict = policy({ tool_pinning: { mode: 'block', first_seen: 'pending' } });
  const flag = policy({ tool_pinning: { mode: 'flag', first_seen: 'pending' } });
  const known = (pinned: Pinned) => facts({ tools: new Map([['a', pinned]]) });
  const approved = known({ hash: shown.hash, approvedHash: shown.hash });
  const changed = known({ hash: 'old', approvedHash: 'old' });
  const waiting = known({ hash: shown.hash, approvedHash: 'old' });
  const rows: readonly [string, ReturnType<typeof policy>, PolicyFacts, boolean, string | null][] = [
    ['is seen and used as approved', block, approved, true, null],
    ['is not shown when it has just changed', block, changed, false, null],
    ['is not used when it was seen changed', block, waiting, false, 'unapproved'],
    ['is trusted at first sight', block, facts(), true, null],
    ['is not trusted at first sight where that is said', strict, facts(), false, 'unapproved'],
    ['is not trusted when no more can be remembered', block, facts({ isFull: true }), false, 'unapproved'],
    ['is only flagged where that is said', flag, waiting, true, null],
    ['does not matter without pinning', policy(), waiting, true, null],
  ];
  for (const [what, rules, known, isShown, refusal] of rows) {
    test(what, () => {
      const gate = gateFor(rules, known, nobody);
      expect(gate.shows(shown)).toBe(isShown);
      expect(gate.refusal('tool', 'a')).toBe(refusal as never);
    });
  }

  test('with hidden characters is not trusted at first sight', () => {
    const gate = gateFor(block, facts(), nobody);
    expect(gate.shows(seen({ name: 'a', description: 'on\u200be' }))).toBe(false);
  });
});

test('a server is open to its users by default, or to those who are named', () => {
  const users = new Map([
    ['yes', true],
    ['no', false],
  ]);
  for (const opensToAll of [true, false]) {
    const given = facts({ opensToAll, users });
    const open = ['yes', 'no', 'else', null].map((userId) => isOpenTo(given, { userId: userId as never }));
    expect(open).toEqual([true, false, opensToAll, opensToAll]);
  }
});

test('patterns fit whole names, in time proportional to them', () => {
  const cases: readonly [string, string, boolean][] = [
    ['a', 'a', true],
    ['a', 'ab', false],
    ['*', '', true],
    ['a*', 'a', true],
    ['*b', 'ab', true],
    ['a*b', 'ab', true],
    ['a*b', 'aXbX', false],
    ['ab*ba', 'aba', false],
    ['a*b*c', 'a1b2c', true],
    ['a*b*c', 'acb', false],
    ['a.c', 'abc', false],
  ];
  for (const [pattern, text, fits] of cases)
    expect([pattern, text, matcherOf(pattern)(text)]).toEqual([pattern, text, fits]);
  expect(templateMatcher('a://{x}/{+y}{?z}')('a://1/2?z=3')).toBe(true);
  const started = performance.now();
  matcherOf(`${'a*'.repeat(50)}b`)('a'.repeat(1_000_000));
  expect(performance.now() - started).toBeLessThan(10_000);
});
