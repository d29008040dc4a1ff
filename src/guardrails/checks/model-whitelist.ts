import * as z from 'zod';
import { check } from '../check.ts';
import { isModel, isWithoutModel, NO_MODEL } from './parameters/models.ts';
import { not, texts } from './parameters/operator.ts';

export const modelWhitelist = check({
  id: 'default.modelWhitelist',
  aliases: ['default.modelwhitelist'],
  passes:
    "the request's model is on the list; `*` stands for anything. A request without a model does not pass, but a call of an MCP server, which has none, does",
  on: ['input'],
  span: 'whole',
  judges: 'body',
  tells: ['model', 'explanation'],
  parameters: () => z.strictObject({ models: texts(), not: not() }),
  run: ({ model, endpointType }, { models, not }) => {
    if (isWithoutModel(endpointType, model)) return { verdict: true, data: { not, model, explanation: NO_MODEL } };
    if (model === null) return { verdict: false, data: { not, model, explanation: 'The request names no model.' } };
    const isListed = models.some((rule) => isModel(rule, model));
    const explanation = `The model is ${isListed ? '' : 'not '}on the list.`;
    return { verdict: isListed !== not, data: { not, model, explanation } };
  },
});
