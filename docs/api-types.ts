/** Writes the types of the API, for the console, from its description as OpenAPI. */
type Schema = Readonly<Record<string, unknown>>;
interface Operation {
  readonly parameters: readonly { name: string; in: string; required: boolean; schema: Schema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: { readonly 200: { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> } };
}
export interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
const literal = (value: unknown) => (typeof value === 'string' ? quoted(value) : JSON.stringify(value));
const member = (name: string, isRequired: boolean, type: string) =>
  `${IDENTIFIER.test(name) ? name : quoted(name)}${isRequired ? '' : '?'}: ${type}`;
const union = (types: readonly string[]) => {
  const distinct = [...new Set(types)];
  return distinct.includes('unknown') ? 'unknown' : distinct.join(' | ') || 'never';
};
const grouped = (type: string) => (/ [|&] /.test(type) ? `(${type})` : type);

/** One line, whatever its length: a change of a route changes one line. */
export function typeOf(schema: Schema | boolean | undefined): string {
  if (!schema || schema === true) return 'unknown';
  if (typeof schema.$ref === 'string') return schema.$ref.replace(/^.*\//, '');
  if ('const' in schema) return literal(schema.const);
  if (Array.isArray(schema.enum)) return union(schema.enum.map(literal));
  const choices = (schema.anyOf ?? schema.oneOf) as readonly Schema[] | undefined;
  if (choices) return union(choices.map(typeOf));
  if (Array.isArray(schema.allOf)) return (schema.allOf as Schema[]).map((part) => grouped(typeOf(part))).join(' & ');
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => typeOf({ ...schema, type })));
  return ofKind(schema);
}

function ofKind(schema: Schema): string {
  switch (schema.type) {
    case 'string':
      return 'string';
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
    case 'null':
      return schema.type;
    case 'array':
      return `${grouped(typeOf(schema.items as Schema))}[]`;
    case 'object':
      return objectOf(schema);
    default:
      return 'unknown';
  }
}

function objectOf({ properties, required, additionalProperties }: Schema): string {
  const members = Object.entries((properties ?? {}) as Record<string, Schema>).map(([name, property]) =>
    member(name, (required as string[] | undefined)?.includes(name) ?? false, typeOf(property)),
  );
  const isOpen = additionalProperties !== undefined && additionalProperties !== false;
  if (members.length === 0) return isOpen ? `Record<string, ${typeOf(additionalProperties as Schema)}>` : 'object';
  return `{ ${members.join('; ')} }`;
}

function operationOf({ parameters, requestBody, responses }: Operation): string {
  const ofPlace = (place: string) =>
    parameters.filter((each) => each.in === place).map((each) => member(each.name, each.required, typeOf(each.schema)));
  const [path, query] = [ofPlace('path'), ofPlace('query')];
  const body = requestBody?.content['application/json']?.schema;
  const parts = [
    ...(path.length > 0 ? [member('params', true, `{ ${path.join('; ')} }`)] : []),
    ...(query.length > 0 ? [member('query', true, `{ ${query.join('; ')} }`)] : []),
    ...(body ? [member('body', true, typeOf(body))] : []),
    member('response', true, typeOf(responses[200].content?.['application/json']?.schema)),
  ];
  return `{ ${parts.join('; ')} }`;
}

export function apiTypes({ paths, components }: Description): string {
  const schemas = Object.entries(components.schemas)
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([name, schema]) => `export type ${name} = ${typeOf(schema as Schema)};`);
  const routes = Object.entries(paths).map(
    ([path, operations]) =>
      `  ${quoted(path)}: {\n${Object.entries(operations)
        .map(([method, operation]) => `    ${method}: ${operationOf(operation as Operation)};\n`)
        .join('')}  };\n`,
  );
  return `/** Written by \`npm run docs\` from the description of the API. */\n\n${schemas.join('\n')}\n\nexport interface Paths {\n${routes.join('')}}\n`;
}
