import { named, openai } from './entry.ts';

function outside(what: string, sign: string) {
  return (param: string, bound: number, got: number) =>
    `Invalid '${param}': ${what} value. Expected a value ${sign} ${bound}, but got ${got} instead.`;
}

function ofLength(what: string, how: string, bound: string) {
  const one = what === 'array' ? 'an array' : `a ${what}`;
  return (param: string, length: number, got: number) =>
    `Invalid '${param}': ${what} too ${how}. Expected ${one} with ${bound} length ${length}, but got ${one} with length ${got} instead.`;
}

/** Faults on routes of OpenAI's objects, in its words. */
export const openaiErrors = {
  missing_required_parameter: openai(400, (param: string) => `Missing required parameter: '${param}'.`, named),
  unknown_parameter: openai(400, (param: string) => `Unknown parameter: '${param}'.`, named),
  invalid_type: openai(
    400,
    (param: string, expected: string, got: string) =>
      `Invalid type for '${param}': expected ${expected}, but got ${got} instead.`,
    named,
  ),
  invalid_value: openai(400, (_param: string, message: string) => message, named),
  integer_above_max_value: openai(400, outside('integer above maximum', '<='), named),
  integer_below_min_value: openai(400, outside('integer below minimum', '>='), named),
  decimal_above_max_value: openai(400, outside('decimal above maximum', '<='), named),
  decimal_below_min_value: openai(400, outside('decimal below minimum', '>='), named),
  string_above_max_length: openai(400, ofLength('string', 'long', 'maximum'), named),
  string_below_min_length: openai(400, ofLength('string', 'short', 'minimum'), named),
  array_above_max_length: openai(400, ofLength('array', 'long', 'maximum'), named),
  array_below_min_length: openai(400, ofLength('array', 'short', 'minimum'), named),
  object_above_max_properties: openai(
    400,
    (param: string, most: number, got: number) =>
      `Invalid '${param}': too many properties. Expected an object with at most ${most} properties, but got an object with ${got} properties instead.`,
    named,
  ),
  cursor_not_found: openai(404, (_param: string) => 'Resource not found.', named, { code: null }),
};
