import * as z from 'zod';
import { type Checked, schemaOf } from '../core/schema.ts';
import { type Check, type Hook, mayTransform, type Span, spanOf } from './check.ts';
import { checks } from './checks/index.ts';

const FEEDBACK = () =>
  z.strictObject({
    value: z.number({ error: 'give a number' }),
    weight: z.number({ error: 'give a number' }),
    metadata: z.string({ error: 'give a text' }).max(2_000),
  });

const feedback = (value: number) =>
  z
    .strictObject({
      feedback: FEEDBACK().extend({
        value: FEEDBACK().shape.value.default(value),
        weight: FEEDBACK().shape.weight.default(1),
        metadata: FEEDBACK().shape.metadata.default(''),
      }),
    })
    .partial()
    .optional();

const flag = () => z.boolean({ error: 'give true or false' });

/** What becomes of a verdict. What is left out is as the default says, also when it was otherwise before. */
export const actionsSchema = () =>
  z.strictObject({
    deny: flag().default(false).describe('Refuse what fails (446) instead of marking it (246).'),
    async: flag().default(false).describe('Look without holding anything up; the verdict is in the log alone.'),
    sequential: flag().default(false).describe('One check after the other instead of all at once.'),
    stream: z
      .enum(['buffer', 'window'], { error: 'give "buffer" or "window"' })
      .default('buffer')
      .describe('How a streamed answer is held back: until its end, or as far as the checks have to see together.'),
    on_success: feedback(5),
    on_fail: feedback(-5),
  });
export type Actions = Checked<typeof actionsSchema>;

export const checkSchema = () =>
  z.strictObject({
    id: z.string({ error: 'give the id of a check, such as "default.contains"' }).min(1),
    parameters: z.record(z.string(), z.unknown(), { error: 'give an object' }).default({}),
    name: z.string({ error: 'give a text' }).max(255).optional(),
    is_enabled: flag().default(true),
  });
export type CheckInput = Checked<typeof checkSchema>;

export const MOST_CHECKS = 50;
export const checksSchema = () =>
  z
    .array(checkSchema(), { error: 'give a list of checks' })
    .min(1, 'give at least one check')
    .max(MOST_CHECKS, `give at most ${MOST_CHECKS} checks`);

/** As it is stored. */
export interface Definition {
  readonly checks: readonly CheckInput[];
  readonly actions: Actions;
}

export interface PreparedCheck {
  /** As it was written. */
  readonly id: string;
  readonly name: string | undefined;
  readonly check: Check;
  readonly parameters: unknown;
  /** The parameters as they were given, as JSON. */
  readonly given: string;
  /** The check and what it was given: two that are the same here find the same. */
  readonly asked: string;
  readonly failsOnError: boolean;
}

/** A guardrail whose patterns are compiled. Made once per version and kept. */
export interface Guardrail {
  readonly id: string;
  readonly versionId: string | null;
  /** Those that look there and are enabled. */
  readonly checks: Readonly<Record<Hook, readonly PreparedCheck[]>>;
  /** Where at least one check can look, whether it is enabled or not. */
  readonly on: ReadonlySet<Hook>;
  /** What its checks call, and where each address is given. */
  readonly addresses: readonly { readonly path: string; readonly url: string }[];
  readonly actions: Actions;
}

/** A fault and where it stands: `checks[1].parameters.rule`. */
export interface Fault {
  readonly path: string;
  readonly why: string;
}

export class DefinitionFault extends Error {
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(faults.map(({ path, why }) => `${path}: ${why}`).join('; '));
    this.faults = faults;
  }
}

/** Checks parameters by their ids and compiles them; throws `DefinitionFault` with every fault. */
export function prepareGuardrail(
  { checks: given, actions }: Definition,
  { id, versionId }: Pick<Guardrail, 'id' | 'versionId'>,
): Guardrail {
  const faults: Fault[] = [];
  const prepared: (PreparedCheck & { isEnabled: boolean })[] = [];
  const addresses: { path: string; url: string }[] = [];
  for (const [index, { id: checkId, parameters, name, is_enabled }] of given.entries()) {
    const path = `checks[${index}]`;
    const check = checks.get(checkId);
    if (!check) {
      faults.push({ path: `${path}.id`, why: `there is no check "${checkId.slice(0, 80)}"; see docs/guardrails.md` });
      continue;
    }
    const result = schemaOf(check.parameters).safeParse(parameters);
    if (!result.success) {
      faults.push(...parameterFaults(`${path}.parameters`, result.error));
      continue;
    }
    const failsOnError = parameters.failOnError !== false;
    const written = JSON.stringify(parameters);
    prepared.push({
      id: checkId,
      name,
      check,
      parameters: result.data,
      given: written,
      asked: `${checkId} ${written}`,
      failsOnError,
      isEnabled: is_enabled,
    });
    for (const url of check.addresses?.(result.data) ?? []) addresses.push({ path: `${path}.parameters`, url });
    const holdsBack = actions.stream === 'window' && is_enabled && check.on.includes('output');
    if (holdsBack && spanOf(check, result.data) === 'whole')
      faults.push({ path: `${path}.id`, why: `${checkId} has to see the whole text; give actions.stream "buffer"` });
  }
  if (faults.length > 0) throw new DefinitionFault(faults);
  const looking = (hook: Hook) => prepared.filter(({ isEnabled, check }) => isEnabled && check.on.includes(hook));
  return {
    id,
    versionId,
    checks: { input: looking('input'), output: looking('output') },
    on: new Set(prepared.flatMap(({ check }) => check.on)),
    addresses,
    actions,
  };
}

/** A call that does not wait for the verdict cannot be refused by it. `path` is where `async` stands. */
export function refuseIdleDenial({ deny, async: isAside }: Actions, path: string): void {
  if (deny && isAside)
    throw new DefinitionFault([
      { path, why: 'cannot stand beside deny: the call does not wait for the verdict; give one of the two' },
    ]);
}

function parameterFaults(path: string, { issues }: z.ZodError): Fault[] {
  return issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ path: joined(path, [...issue.path, key]), why: 'is not known here' }))
      : [{ path: joined(path, issue.path), why: issue.message }],
  );
}

export const joined = (path: string, steps: readonly PropertyKey[]): string =>
  steps.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : `${text}.${String(step)}`),
    path,
  );

/** Whether an answer that is streamed has to wait for its verdict. */
export const holdsStreams = ({ actions, checks }: Guardrail): boolean =>
  !actions.async && (actions.deny || checks.output.some(({ check, parameters }) => mayTransform(check, parameters)));

/** How much of a stream its checks have to see together. */
export const spanNeeded = ({ checks }: Guardrail): Span =>
  checks.output
    .map(({ check, parameters }) => spanOf(check, parameters))
    .reduce<Span>((most, span) => (most === 'whole' || span === 'whole' ? 'whole' : Math.max(most, span)), 1);
