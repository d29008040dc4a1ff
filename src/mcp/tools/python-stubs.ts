import type { ToolDefinition } from './ranking.ts';

/** Tools as functions of Python: what models read before they write a program. */

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** A function of one of these names would take the place of something that programs need. */
const TAKEN = new Set(
  [
    'False None True and as assert async await break class continue def del elif else except finally for from global if',
    'import in is lambda nonlocal not or pass raise return try while with yield match case type',
    'abs all any ascii bin bool bytearray bytes callable chr classmethod compile complex delattr dict dir display divmod',
    'enumerate eval exec filter float format frozenset getattr globals hasattr hash help hex id input int isinstance',
    'issubclass iter len list locals map max memoryview min next object oct open ord pow print property range repr',
    'reversed round set setattr slice sorted staticmethod str sum super tuple vars zip',
    'asyncio json call_tool ToolError',
  ]
    .join(' ')
    .split(' '),
);
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The nearest name that Python takes. */
export function identifierOf(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_]/g, '_');
  if (/^[0-9]/.test(plain)) return `_${plain}`;
  return TAKEN.has(plain) || plain === '' ? `${plain}_` : plain;
}

/**
 * By which function each tool is called. Of two tools that would have the same, the one that is called exactly so has it;
 * the others have none and are called by their names. `isContested` tells of names that a tool may have which is not
 * among these.
 */
export function functionNames(
  names: readonly string[],
  isContested: (name: string) => boolean,
): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(identifierOf(name), (counts.get(identifierOf(name)) ?? 0) + 1);
  const exact = new Set(names);
  return new Map(
    names.flatMap((name) => {
      const identifier = identifierOf(name);
      const isSure =
        identifier === name || (counts.get(identifier) === 1 && !exact.has(identifier) && !isContested(name));
      return isSure ? [[name, identifier]] : [];
    }),
  );
}

const DEEPEST = 5;
const MOST_MEMBERS = 40;
const MOST_CHOICES = 30;
const LONGEST_TYPE = 4_000;
const LONGEST_TEXT = 4_000;

/** The declaration of one tool. Without a function of its own it is called by its name. */
export function stubOf(tool: ToolDefinition, functionName: string | null): string {
  const schema = isObject(tool.inputSchema) ? tool.inputSchema : {};
  const members = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const named = members.filter(([name]) => IDENTIFIER.test(name) && !KEYWORDS.has(name));
  const others = members.filter(([name]) => !IDENTIFIER.test(name) || KEYWORDS.has(name));
  const first = [...named].sort(([one], [other]) => Number(required.has(other)) - Number(required.has(one)));
  const parameters = first.map(([name, each]) => {
    const type = typeOf(each, schema);
    return required.has(name) ? `${name}: ${type}` : `${name}: ${type} = ...`;
  });
  const isOpen = others.length > 0;
  const list = [...(parameters.length > 0 ? ['*', ...parameters] : []), ...(isOpen ? ['**more'] : [])].join(', ');
  const result = isObject(tool.outputSchema) ? ` -> ${typeOf(tool.outputSchema, tool.outputSchema)}` : '';
  const notes = [
    ...(functionName === null ? [`Call it as: await call_tool(${JSON.stringify(tool.name)}, {...})`] : []),
    ...others.map(
      ([name, each]) =>
        `Give **{${literal(name)}: ${typeOf(each, schema)}}${required.has(name) ? '' : ' if wanted'}${about(each)}`,
    ),
    ...first.flatMap(([name, each]) => (about(each) === '' ? [] : [`${name}${about(each)}`])),
  ];
  const said = [textOf(tool.description) || textOf(tool.title), ...notes].filter((line) => line !== '');
  const name = functionName ?? identifierOf(String(tool.name));
  const head = `async def ${name}(${list})${result}:`;
  if (said.length === 0) return `${head} ...`;
  const text = said.join('\n').replaceAll('\\', '\\\\').replaceAll('"""', "'''");
  return `${head}\n    """${text.replaceAll('\n', '\n    ')}"""`;
}

const KEYWORDS = new Set([...TAKEN].slice(0, [...TAKEN].indexOf('match')));

/** What is said of a parameter, in one line. */
function about(schema: unknown): string {
  if (!isObject(schema)) return '';
  const text = textOf(schema.description).replace(/\s+/g, ' ');
  const byDefault = schema.default === undefined ? '' : `Default ${literal(schema.default)}.`;
  const said = [text, byDefault].filter((part) => part !== '').join(' ');
  return said === '' ? '' : `: ${said}`;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim().slice(0, LONGEST_TEXT) : '');

/** A value of JSON as Python writes it. */
function literal(value: unknown): string {
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (value === null || value === undefined) return 'None';
  return (JSON.stringify(value) ?? 'None').slice(0, 200);
}

/** The type of what fits a schema. What takes too long to say may be anything. */
function typeOf(schema: unknown, root: Json): string {
  const said = typeAt(schema, root, 0);
  return said.length <= LONGEST_TYPE ? said : 'Any';
}

const PLAIN: Readonly<Record<string, string>> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
};

function typeAt(given: unknown, root: Json, depth: number): string {
  const schema = isObject(given) && typeof given.$ref === 'string' ? referred(given.$ref, root) : given;
  if (!isObject(schema) || depth > DEEPEST || typeof schema.$ref === 'string') return 'Any';
  const inner = (each: unknown) => typeAt(each, root, depth + 1);
  if (schema.const !== undefined) return `Literal[${literal(schema.const)}]`;
  if (Array.isArray(schema.enum) && schema.enum.length > 0 && schema.enum.length <= MOST_CHOICES)
    return `Literal[${schema.enum.map(literal).join(', ')}]`;
  const choices = [schema.anyOf, schema.oneOf].find(Array.isArray) as unknown[] | undefined;
  if (choices) return unionOf(choices.slice(0, MOST_CHOICES).map(inner));
  if (Array.isArray(schema.allOf) && schema.allOf.length === 1) return inner(schema.allOf[0]);
  if (Array.isArray(schema.type)) return unionOf(schema.type.map((type) => typeAt({ ...schema, type }, root, depth)));
  if (typeof schema.type === 'string' && Object.hasOwn(PLAIN, schema.type)) return PLAIN[schema.type]!;
  if (schema.type === 'array') return schema.items === undefined ? 'list' : `list[${inner(schema.items)}]`;
  if (schema.type === 'object' || isObject(schema.properties)) return objectType(schema, inner);
  return 'Any';
}

function objectType(schema: Json, inner: (each: unknown) => string): string {
  const members = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  if (members.length > MOST_MEMBERS) return 'dict';
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  if (members.length > 0)
    return `{${members
      .map(([name, each]) => `${literal(name)}: ${required.has(name) ? inner(each) : `NotRequired[${inner(each)}]`}`)
      .join(', ')}}`;
  return isObject(schema.additionalProperties) ? `dict[str, ${inner(schema.additionalProperties)}]` : 'dict';
}

const unionOf = (types: readonly string[]): string => [...new Set(types)].join(' | ') || 'Any';

/** Inside the same schema; nothing is read from elsewhere. */
function referred(ref: string, root: Json): unknown {
  if (!ref.startsWith('#/')) return null;
  let found: unknown = root;
  for (const part of ref.slice(2).split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    found = isObject(found) && Object.hasOwn(found, name) ? found[name] : null;
  }
  return found;
}
