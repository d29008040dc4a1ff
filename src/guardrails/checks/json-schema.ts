import * as z from 'zod';
import { check, errored } from '../check.ts';
import { jsonIn } from './json/json-in-text.ts';
import { SchemaFault, schemaTest } from './json/schema.ts';
import { not } from './parameters/operator.ts';

const schema = () =>
  z
    .union([z.record(z.string(), z.unknown()), z.boolean()], { error: 'give a JSON Schema' })
    .transform((given, context) => {
      try {
        return { fits: schemaTest(given), weight: weightOf(given) };
      } catch (error) {
        if (!(error instanceof SchemaFault)) throw error;
        context.addIssue({ code: 'custom', path: [...error.path], message: error.message });
        return z.NEVER;
      }
    });

/** References and patterns can make much of little; what else there is, is held once against each value. */
function weightOf(given: Readonly<Record<string, unknown>> | boolean): number {
  const text = JSON.stringify(given);
  return /"\$ref"|"pattern/.test(text) ? Number.POSITIVE_INFINITY : text.length;
}

const MOST_MS = 1_000;

export const jsonSchema = check({
  id: 'default.jsonSchema',
  passes:
    'some JSON in the texts (all of a text, in a fence or in prose) fits the schema, 2020-12. Patterns are of the RE2 kind; `patternProperties` and formats without a test are refused',
  on: ['input', 'output'],
  span: 'whole',
  tells: ['candidates', 'explanation'],
  effort: ({ schema: { weight } }, characters) => characters * (0.3 + weight * 0.001),
  parameters: () => z.strictObject({ schema: schema(), not: not() }),
  run: ({ texts }, { schema: { fits }, not }, { now }) => {
    const deadline = now() + MOST_MS;
    let candidates = 0;
    let isFound = false;
    for (const { text, whole = text } of texts) {
      const values = jsonIn(whole);
      if (values === null) return errored('the text has too many braces that open no JSON');
      candidates += values.length;
      try {
        isFound ||= values.some((value) => fits(value, () => now() > deadline));
      } catch (error) {
        const why = (error as Error).message.slice(0, 100);
        return { ...errored('the JSON could not be held against the schema'), log: { why } };
      }
    }
    const explanation = isFound ? 'Some JSON fits.' : candidates > 0 ? 'No JSON fits.' : 'There is no JSON.';
    return { verdict: isFound !== not, data: { not, candidates, explanation } };
  },
});
