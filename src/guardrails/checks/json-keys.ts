import * as z from 'zod';
import { check, errored, perCharacter } from '../check.ts';
import { jsonIn } from './json/json-in-text.ts';
import { holds, operator, texts } from './parameters/operator.ts';

export const jsonKeys = check({
  id: 'default.jsonKeys',
  passes:
    'some JSON object in the texts has `any` or `all` of the keys at its top; with `none`, when there is an object and none has one of them',
  on: ['input', 'output'],
  span: 'whole',
  tells: ['objects'],
  effort: perCharacter(0.3),
  parameters: () => z.strictObject({ keys: texts(), operator: operator().default('any') }),
  run: (facts, { keys, operator }) => {
    const objects: object[] = [];
    for (const { text, whole = text } of facts.texts) {
      const values = jsonIn(whole);
      if (values === null) return errored('the text has too many braces that open no JSON');
      objects.push(...values.filter(isObject));
    }
    const present = objects.map((object) => keys.filter((key) => Object.hasOwn(object, key)));
    const fits = (found: readonly string[]) => holds(operator, found.length, keys.length);
    const verdict = objects.length > 0 && (operator === 'none' ? present.every(fits) : present.some(fits));
    const best = present.reduce((most, found) => (found.length > most.length ? found : most), []);
    return {
      verdict,
      data: { operator, objects: objects.length, present: best, missing: keys.filter((key) => !best.includes(key)) },
    };
  },
});

const isObject = (value: unknown): value is object =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
