import * as z from 'zod';
import { schemaOf } from '../core/schema.ts';
import {
  actionsSchema,
  type CheckInput,
  checkSchema,
  DefinitionFault,
  type Fault,
  type Guardrail,
  joined,
  MOST_CHECKS,
  prepareGuardrail,
  refuseIdleDenial,
} from './guardrail.ts';

/** Members of a guardrail that is written out where it is used; every other one is the id of a check. */
const inlineSchema = () =>
  actionsSchema().extend({
    id: z.string({ error: 'give a text' }).min(1).max(255).default('inline'),
    type: z.literal('guardrail', { error: 'give "guardrail"' }).optional(),
    name: z.string().max(255).optional(),
    guardrail_version_id: z.string().optional(),
    checks: z.array(checkSchema(), { error: 'give a list of checks' }).default([]),
  });
const isOwn = (key: string) => Object.hasOwn(schemaOf(inlineSchema).shape, key);

const prepared = new WeakMap<object, Guardrail>();

/**
 * `{"default.contains": {"words": ["x"]}, "deny": true}`, or with a list of `checks`. Prepared once for each object; throws
 * `DefinitionFault`.
 */
export function prepareInline(given: Readonly<Record<string, unknown>>): Guardrail {
  const known = prepared.get(given);
  if (known) return known;
  const own = Object.fromEntries(Object.entries(given).filter(([key]) => isOwn(key)));
  const result = schemaOf(inlineSchema).safeParse(own);
  if (!result.success) throw new DefinitionFault(faultsOf(result.error));
  const { id, type: _type, name: _name, guardrail_version_id, checks, ...actions } = result.data;
  refuseIdleDenial(actions, 'async');
  const all = [...checks, ...shortChecks(given)];
  if (all.length > MOST_CHECKS)
    throw new DefinitionFault([{ path: 'checks', why: `give at most ${MOST_CHECKS} checks` }]);
  if (all.length === 0) throw new DefinitionFault([{ path: 'checks', why: 'give at least one check' }]);
  const guardrail = prepareGuardrail({ checks: all, actions }, { id, versionId: guardrail_version_id ?? null });
  prepared.set(given, guardrail);
  return guardrail;
}

function shortChecks(given: Readonly<Record<string, unknown>>): CheckInput[] {
  return Object.entries(given)
    .filter(([key]) => !isOwn(key))
    .map(([key, parameters]) => {
      const id = key.includes('.') ? key : `default.${key}`;
      if (parameters === null || typeof parameters !== 'object' || Array.isArray(parameters))
        throw new DefinitionFault([{ path: key, why: 'give the parameters of this check as an object' }]);
      return { id, parameters: parameters as Record<string, unknown>, is_enabled: true };
    });
}

const faultsOf = ({ issues }: z.ZodError): Fault[] =>
  issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ path: joined('', [...issue.path, key]).slice(1), why: 'is not known here' }))
      : [{ path: joined('', issue.path).replace(/^\./, ''), why: issue.message }],
  );
