import * as z from 'zod';
import { check } from '../check.ts';
import { holds, operator } from './parameters/operator.ts';
import { checkedTest, matchType, wantedValues } from './parameters/value-match.ts';

const pairs = () =>
  z
    .record(z.string().min(1), wantedValues(), { error: 'give an object of values by metadata key' })
    .refine((given) => Object.keys(given).length > 0, 'give at least one pair');

export const requiredMetadataKeyPairs = check({
  id: 'default.requiredMetadataKeyPairs',
  passes:
    "`all`, `any` or `none` of the pairs are in the request's metadata; `matchType` compares values: `exact` (one of them), `contains` (one is a part), `containsAll` (all are parts), `regex` (one matches)",
  on: ['input'],
  span: 'whole',
  judges: 'call',
  tells: ['unmatched'],
  parameters: () =>
    z
      .strictObject({
        metadataPairs: pairs(),
        operator: operator().default('all'),
        matchType: matchType().default('exact'),
      })
      .transform(({ metadataPairs, operator, matchType }, context) => ({
        operator,
        matchType,
        tests: Object.entries(metadataPairs).map(([key, values]) => ({
          key,
          test: checkedTest(matchType, values, context, ['metadataPairs', key]),
        })),
      })),
  run: ({ metadata }, { tests, operator, matchType }) => {
    const fits = ({ key, test }: (typeof tests)[number]) => Object.hasOwn(metadata, key) && test(metadata[key]);
    const matched = tests.filter(fits).map(({ key }) => key);
    const unmatched = tests.map(({ key }) => key).filter((key) => !matched.includes(key));
    return {
      verdict: holds(operator, matched.length, tests.length),
      data: { operator, matchType, matched, ...(operator !== 'none' && { unmatched }) },
    };
  },
});
