import * as z from 'zod';
import type { Checked } from '../../core/schema.ts';
import { check } from '../check.ts';
import { type NamedTool, toolsIn } from './call/tools.ts';

const names = () =>
  z.array(z.string().min(1, 'must not be empty').max(256), { error: 'give a list of names' }).max(1_000).optional();
const values = () =>
  z
    .array(z.union([z.string(), z.number(), z.boolean(), z.null()]))
    .max(1_000)
    .optional();

/** The same entry in both lists would mean both yes and no. */
const apart =
  <Name extends string>(allowed: Name, blocked: Name) =>
  (lists: Readonly<Partial<Record<Name, readonly unknown[]>>>, context: z.RefinementCtx) => {
    lists[blocked]?.forEach((entry, index) => {
      if (lists[allowed]?.includes(entry))
        context.addIssue({
          code: 'custom',
          path: [blocked, index],
          message: `${JSON.stringify(entry)} is in ${allowed}, too`,
        });
    });
  };

const tools = () =>
  z
    .strictObject({
      allowedTypes: names(),
      blockedTypes: names(),
      allowedFunctionNames: names(),
      blockedFunctionNames: names(),
    })
    .superRefine(apart('allowedTypes', 'blockedTypes'))
    .superRefine(apart('allowedFunctionNames', 'blockedFunctionNames'));

const params = () =>
  z
    .strictObject({
      allowedKeys: names(),
      blockedKeys: names(),
      values: z
        .record(
          z.string(),
          z
            .strictObject({ allowedValues: values(), blockedValues: values() })
            .superRefine(apart('allowedValues', 'blockedValues')),
        )
        .optional(),
    })
    .superRefine(apart('allowedKeys', 'blockedKeys'));

interface Violation {
  readonly reason: `${'type' | 'name' | 'key' | 'value'}_${'blocked' | 'not_allowed'}`;
  /** The type, name or key at fault. */
  readonly at: string;
}

export const requestParametersCheck = check({
  id: 'default.requestParametersCheck',
  passes:
    "the request's tools and top-level members keep to the lists; blocked wins, an allowed list leaves nothing else. Values are compared strictly. A body that is not a JSON object does not pass",
  on: ['input'],
  span: 'whole',
  judges: 'body',
  tells: ['violations', 'explanation'],
  parameters: () =>
    z
      .strictObject({ tools: tools().optional(), params: params().optional() })
      .refine(({ tools, params }) => tools || params, { error: 'needs tools or params' }),
  run: ({ request: { json } }, { tools, params }) => {
    if (json === null || typeof json !== 'object' || Array.isArray(json))
      return { verdict: false, data: { violations: [], explanation: 'The body is not a JSON object.' } };
    const body = json as Readonly<Record<string, unknown>>;
    const violations = [
      ...(tools ? toolsIn(body).flatMap((tool) => ofTool(tool, tools)) : []),
      ...(params ? Object.entries(body).flatMap(([key, value]) => ofParameter(key, value, params)) : []),
    ];
    return { verdict: violations.length === 0, data: { violations: violations.slice(0, 50) } };
  },
});

function ofTool({ type, name }: NamedTool, lists: Checked<typeof tools>): Violation[] {
  const found = listed('type', type, lists.allowedTypes, lists.blockedTypes);
  // Tools that providers build in have no name of their own.
  if (name === null) return found;
  return [...found, ...listed('name', name, lists.allowedFunctionNames, lists.blockedFunctionNames)];
}

function ofParameter(
  key: string,
  value: unknown,
  { allowedKeys, blockedKeys, values }: Checked<typeof params>,
): Violation[] {
  const found = listed('key', key, allowedKeys, blockedKeys);
  const rule = values && Object.hasOwn(values, key) ? values[key] : undefined;
  if (!rule) return found;
  return [
    ...found,
    ...listed('value', value, rule.allowedValues, rule.blockedValues).map((each) => ({ ...each, at: key })),
  ];
}

function listed(
  what: 'type' | 'name' | 'key' | 'value',
  entry: unknown,
  allowed: readonly unknown[] | undefined,
  blocked: readonly unknown[] | undefined,
): Violation[] {
  const at = String(entry).slice(0, 100);
  if (blocked?.includes(entry)) return [{ reason: `${what}_blocked`, at }];
  return allowed && !allowed.includes(entry) ? [{ reason: `${what}_not_allowed`, at }] : [];
}
