import * as z from 'zod';
import { check } from '../check.ts';
import { isModel, isWithoutModel, NO_MODEL } from './parameters/models.ts';
import { not } from './parameters/operator.ts';

const models = () =>
  z.array(z.string().min(1, 'must not be empty').max(256), { error: 'give a list of models' }).max(1_000);

const rules = () =>
  z
    .strictObject(
      {
        defaults: models().default([]),
        metadata: z
          .record(z.string(), z.record(z.string(), models()), { error: 'give {"<key>": {"<value>": ["<model>"]}}' })
          .default({}),
      },
      { error: 'give {"defaults": […], "metadata": {…}}' },
    )
    .refine(({ defaults, metadata }) => defaults.length > 0 || Object.keys(metadata).length > 0, {
      error: 'needs defaults or metadata',
    });

export const modelRules = check({
  id: 'default.modelRules',
  passes:
    "the request's model is on one of the lists that its metadata chooses, or on `defaults` where it chooses none; `*` stands for anything. Without a list nothing passes but calls of MCP servers, which have no model",
  on: ['input'],
  span: 'whole',
  judges: 'body',
  tells: ['model', 'explanation'],
  parameters: () => z.strictObject({ rules: rules(), not: not() }),
  run: ({ model, metadata, endpointType }, { rules, not }) => {
    if (isWithoutModel(endpointType, model))
      return { verdict: true, data: { not, model, by: [], explanation: NO_MODEL } };
    const chosen = Object.entries(rules.metadata).flatMap(([key, byValue]) => {
      const value = Object.hasOwn(metadata, key) ? metadata[key]! : null;
      return value !== null && Object.hasOwn(byValue, value) ? [{ key, models: byValue[value]! }] : [];
    });
    const allowed = chosen.length > 0 ? chosen.flatMap(({ models }) => models) : rules.defaults;
    const by = chosen.length > 0 ? chosen.map(({ key }) => `metadata.${key}`) : ['defaults'];
    if (model === null || allowed.length === 0)
      return { verdict: false, data: { not, model, by, explanation: 'There is no model or no list for it.' } };
    const isListed = allowed.some((rule) => isModel(rule, model));
    const explanation = `The model is ${isListed ? '' : 'not '}on the list.`;
    return { verdict: isListed !== not, data: { not, model, by, explanation } };
  },
});
