import { expect, test } from 'bun:test';
import * as z from 'zod';
import { portsOf } from '../../test/guardrails/facts.ts';
import type { CheckThreads, Look } from './check.ts';
import { type Check, type CheckResult, check, type Facts, type Ports, perCharacter } from './check.ts';
import type { Guardrail } from './guardrail.ts';
import { actionsSchema } from './guardrail.ts';
import { readBody } from './reading.ts';
import { judge } from './run.ts';

const checkOf = (run: (facts: Facts) => CheckResult | Promise<CheckResult>, rest: Partial<Check> = {}): Check =>
  check({
    id: 'test.check',
    passes: 'it is told to',
    on: ['input'],
    span: 'whole',
    parameters: () => z.strictObject({}),
    ...rest,
    run,
  });

const guardrailOf = (checks: readonly Check[], actions: object = {}): Guardrail => ({
  id: 'g',
  versionId: null,
  checks: {
    input: checks.map((each) => ({
      id: each.id,
      name: undefined,
      check: each,
      parameters: {},
      given: '{}',
      asked: `${each.id} {}`,
      failsOnError: true,
    })),
    output: [],
  },
  on: new Set(['input']),
  addresses: [],
  actions: actionsSchema().parse(actions),
});

const SURROUNDINGS = {
  status: null,
  model: null,
  endpointType: 'chatComplete',
  metadata: {},
  headers: {},
  isStream: () => false,
  provider: null,
} as const;

const judged = async (guardrails: readonly Guardrail[], content = 'text', ports: Partial<Ports> = {}) =>
  judge({
    hook: 'input',
    guardrails,
    reading: readBody(
      Buffer.from(JSON.stringify({ messages: [{ role: 'user', content }] })),
      { type: 'application/json', encoding: null },
      { on: 'input', endpoint: 'chatComplete' },
    ),
    request: readBody(null, { type: '', encoding: null }, { on: 'input', endpoint: 'chatComplete' }),
    surroundings: SURROUNDINGS,
    ports: portsOf(ports),
    owner: 'key',
  });

const adding = (letter: string, wait = 0) =>
  checkOf(async ({ texts }) => {
    if (wait > 0) await Bun.sleep(wait);
    return { verdict: true, data: null, transformed: { texts: [{ part: 0, text: texts[0]!.text + letter }] } };
  });

test('a check that throws, now or later, does not pass and says nothing of why', async () => {
  const guardrails = [
    guardrailOf([
      checkOf(() => {
        throw new Error('secret detail');
      }),
      checkOf(() => Promise.reject(new Error('secret detail'))),
    ]),
  ];

  const { results } = await judged(guardrails);

  expect(results[0]).toMatchObject({ verdict: false });
  expect(results[0]!.checks.map(({ verdict, error }) => [verdict, error?.message])).toEqual([
    [false, 'the check failed'],
    [false, 'the check failed'],
  ]);
  expect(JSON.stringify(results)).not.toContain('secret detail');
});

test('changes that are made at the same time are all made, one on top of the other', async () => {
  const { reading, results } = await judged([guardrailOf([adding('a', 20), adding('b', 5), adding('c')])]);

  expect([...reading.texts[0]!.text].sort().join('')).toBe([...'textabc'].sort().join(''));
  expect(results[0]).toMatchObject({ transformed: true, verdict: true });
});

test('sequential checks look one after the other, each at what the one before has left', async () => {
  const { reading } = await judged([guardrailOf([adding('a', 20), adding('b', 5), adding('c')], { sequential: true })]);

  expect(reading.texts[0]!.text).toBe('textabc');
});

test('checks that find out at once are answered without a promise', () => {
  const now = judge({
    hook: 'input',
    guardrails: [guardrailOf([checkOf(() => ({ verdict: true, data: null }))])],
    reading: readBody(
      Buffer.from('{}'),
      { type: 'application/json', encoding: null },
      { on: 'input', endpoint: 'embed' },
    ),
    request: readBody(null, { type: '', encoding: null }, { on: 'input', endpoint: 'embed' }),
    surroundings: SURROUNDINGS,
    ports: portsOf(),
  });

  expect(now).not.toBeInstanceOf(Promise);
});

test('what cannot be put in the place of a body fails the check that wanted it there', async () => {
  const impossible = checkOf(() => ({ verdict: true, data: null, transformed: { json: {} } }));
  const { results, reading } = await judge({
    hook: 'input',
    guardrails: [guardrailOf([impossible])],
    reading: readBody(Buffer.from('plain'), { type: 'text/plain', encoding: null }, { on: 'input', endpoint: 'proxy' }),
    request: readBody(null, { type: '', encoding: null }, { on: 'input', endpoint: 'proxy' }),
    surroundings: SURROUNDINGS,
    ports: portsOf(),
  });

  expect(results[0]).toMatchObject({ verdict: false, transformed: false });
  expect(results[0]!.checks[0]!.error?.message).toContain('cannot be put there');
  expect(reading.texts[0]!.text).toBe('plain');
});

/** A thread that says how long it took, and remembers what it was asked. */
function threadsTaking(ms: number) {
  const looks: Look[] = [];
  let atOnce = 0;
  let mostAtOnce = 0;
  const threads: CheckThreads = {
    look: async (look) => {
      looks.push(look);
      mostAtOnce = Math.max(mostAtOnce, ++atOnce);
      await Bun.sleep(0);
      atOnce--;
      return { result: { verdict: true, data: null }, ms };
    },
    close: () => {},
  };
  return { threads, looks, mostAtOnce: () => mostAtOnce };
}

const differing = (count: number, one: Check): Guardrail => {
  const made = guardrailOf(Array(count).fill(one));
  const input = made.checks.input.map((each, index) => ({
    ...each,
    given: `{"n":${index}}`,
    asked: `${one.id} ${index}`,
  }));
  return { ...made, checks: { input, output: [] } };
};

test('what is asked twice is looked at once, until something is changed', async () => {
  let looks = 0;
  const counting = checkOf(
    () => {
      looks++;
      return { verdict: true, data: null };
    },
    { effort: perCharacter(0.01) },
  );

  const { results } = await judged([guardrailOf(Array(400).fill(counting)), guardrailOf([counting])]);
  expect([looks, results[0]!.checks.length, results.every(({ verdict }) => verdict)]).toEqual([1, 400, true]);

  await judged([guardrailOf([counting, adding('x'), counting], { sequential: true })]);
  expect(looks).toBe(3);
});

test('checks look here as long as that takes little, and then in a thread, one of a call at a time', async () => {
  let here = 0;
  const slow = checkOf(
    () => {
      here++;
      return { verdict: true, data: null };
    },
    { effort: () => 1_000 },
  );
  const { threads, looks, mostAtOnce } = threadsTaking(10);

  const { results } = await judged([differing(12, slow)], 'text', { threads });
  expect([here, looks.length, mostAtOnce()]).toEqual([5, 7, 1]);
  expect(looks[0]).toMatchObject({ owner: 'key', on: 'input', texts: [{ text: 'text' }] });
  expect(results[0]!.verdict).toBe(true);
});

test('checks that take more of a thread than a call may have do not look, and so do not pass', async () => {
  const { threads, looks } = threadsTaking(2_000);
  const endless = checkOf(() => ({ verdict: true, data: null }), { effort: () => Number.POSITIVE_INFINITY });

  const { results } = await judged([differing(10, endless)], 'text', { threads });
  expect(looks.length).toBe(3);
  expect(results[0]!.verdict).toBe(false);
  expect(results[0]!.checks.at(-1)!.error!.message).toStartWith('the checks of this call took more than 5000 ms');
});
