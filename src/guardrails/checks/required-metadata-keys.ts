import * as z from 'zod';
import { check } from '../check.ts';
import { holds, operator, texts } from './parameters/operator.ts';

export const requiredMetadataKeys = check({
  id: 'default.requiredMetadataKeys',
  passes: "the request's metadata has `all`, `any` or `none` of the keys",
  on: ['input'],
  span: 'whole',
  judges: 'call',
  tells: ['missing'],
  parameters: () => z.strictObject({ metadataKeys: texts(), operator: operator().default('all') }),
  run: ({ metadata }, { metadataKeys, operator }) => {
    const present = metadataKeys.filter((key) => Object.hasOwn(metadata, key));
    const missing = metadataKeys.filter((key) => !Object.hasOwn(metadata, key));
    const verdict = holds(operator, present.length, metadataKeys.length);
    // What must not be there is not told by naming what is missing.
    return { verdict, data: operator === 'none' ? { operator, present } : { operator, present, missing } };
  },
});
