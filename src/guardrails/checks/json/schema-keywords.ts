const isObject = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value);
const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0;
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isSchema = (value: unknown): boolean => isObject(value) || typeof value === 'boolean';
const isSchemas = (value: unknown): boolean => Array.isArray(value) && value.length > 0 && value.every(isSchema);
const isSchemasByName = (value: unknown): boolean => isObject(value) && Object.values(value).every(isSchema);

const TYPES = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'];

/** Formats whose tests take linear time; those left out can be made to take for ever, or test nothing. */
const FORMATS = [
  'date',
  'time',
  'date-time',
  'duration',
  'uri',
  'uri-reference',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uuid',
  'json-pointer',
  'relative-json-pointer',
];

type Rule = readonly [isRight: (value: unknown) => boolean, wanted: string];
const of = (names: readonly string[], isRight: Rule[0], wanted: string): [string, Rule][] =>
  names.map((name) => [name, [isRight, wanted]]);
const never = () => false;

/** What each keyword must be like. The validator takes them as they come and would guess, or give up much later. */
const KEYWORDS = new Map<string, Rule>([
  ...of(['type'], (value) => [value].flat().every((name) => isText(name) && TYPES.includes(name)), TYPES.join(', ')),
  ...of(['format'], (value) => isText(value) && FORMATS.includes(value), FORMATS.join(', ')),
  ...of(['enum'], Array.isArray, 'a list of values'),
  ...of(['required'], isTexts, 'a list of names'),
  ...of(['pattern', '$ref', '$id', '$anchor'], isText, 'a text'),
  ...of(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'], isNumber, 'a number'),
  ...of(['multipleOf'], (value) => isNumber(value) && (value as number) > 0, 'a number above 0'),
  ...of(
    ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties', 'minContains', 'maxContains'],
    isCount,
    'a whole number from 0',
  ),
  ...of(['uniqueItems'], (value) => typeof value === 'boolean', 'true or false'),
  ...of(['allOf', 'anyOf', 'oneOf', 'prefixItems'], isSchemas, 'a list of schemas'),
  ...of(['properties', '$defs', 'definitions', 'dependentSchemas'], isSchemasByName, 'schemas by name'),
  ...of(
    ['dependentRequired'],
    (value) => isObject(value) && Object.values(value).every(isTexts),
    'lists of names by name',
  ),
  ...of(
    ['not', 'if', 'then', 'else', 'items', 'contains', 'additionalProperties', 'propertyNames'],
    isSchema,
    'a schema',
  ),
  ...of(['unevaluatedProperties', 'unevaluatedItems'], isSchema, 'a schema'),
  ...of(['patternProperties'], never, 'propertyNames or additionalProperties instead'),
  ...of(['dependencies'], never, 'dependentRequired or dependentSchemas instead'),
  ...of(['additionalItems'], never, 'items beside prefixItems instead'),
  ...of(['$recursiveRef', '$recursiveAnchor', '$dynamicRef', '$dynamicAnchor'], never, '$ref instead'),
]);

/** The first keyword that is not as it must be, and what would be right. */
export function keywordFault(schema: Readonly<Record<string, unknown>>): { name: string; wanted: string } | null {
  for (const name of Object.keys(schema)) {
    const rule = KEYWORDS.get(name);
    if (rule && !rule[0](schema[name])) return { name, wanted: rule[1] };
  }
  return null;
}
