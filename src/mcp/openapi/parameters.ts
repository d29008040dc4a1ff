import { below, DescriptionFault, type Json, memberOf, NotOffered, objectAt } from './fault.ts';
import type { Extent, References } from './schemas.ts';
import type { Operation } from './tools.ts';

/** Where an argument of a tool goes, and how it is written there. */
export interface ApiArgument {
  /** Of the tool. */
  readonly argument: string;
  /** Of the API. */
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly style: 'simple' | 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject' | 'json';
  readonly explode: boolean;
}

export interface ApiBody {
  readonly argument: string;
  readonly type: string;
  readonly isForm: boolean;
}

const STYLES = {
  path: ['simple'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
} as const;
/** Model providers take no other names of members. */
const FOREIGN = /[^a-zA-Z0-9_.-]/gu;
const LONGEST_ARGUMENT = 64;
const MOST_PARAMETERS = 100;
const BODY = 'body';
const FORM = 'application/x-www-form-urlencoded';
/** OpenAPI passes over parameters of these names: others say them. */
const SAID_OTHERWISE = new Set(['accept', 'content-type', 'authorization']);
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

interface Parameter {
  readonly value: Json;
  readonly at: string;
  readonly name: string;
  readonly in: ApiArgument['in'];
}

/** What an operation takes: as a schema for models, and where each of it goes. */
export function argumentsOf(operation: Operation, references: References, extent: Extent) {
  const properties = new Map<string, Json>();
  const required: string[] = [];
  const list: ApiArgument[] = [];
  for (const parameter of parametersOf(operation, references)) {
    const argument = argumentName(parameter, properties);
    const { schema, style, explode } = formOf(parameter, references, extent);
    const said = memberOf(parameter.value, 'description');
    properties.set(argument, typeof said === 'string' ? { ...schema, description: said } : schema);
    if (parameter.in === 'path' || memberOf(parameter.value, 'required') === true) required.push(argument);
    list.push({ argument, name: parameter.name, in: parameter.in, style, explode });
  }
  const body = bodyOf(operation, references, extent);
  if (body) {
    properties.set(BODY, body.schema);
    if (body.isRequired) required.push(BODY);
  }
  return {
    properties: Object.fromEntries(properties) as Json,
    required,
    list,
    body: body && { argument: BODY, type: body.type, isForm: body.type === FORM },
  };
}

function parametersOf(operation: Operation, references: References): Parameter[] {
  const found = new Map<string, Parameter>();
  for (const each of operation.parameters) {
    const { value, at } = references.follow(each.value, each.at);
    const name = memberOf(value, 'name');
    const place = memberOf(value, 'in');
    if (typeof name !== 'string' || name === '' || name.length > 256)
      throw new DescriptionFault(below(at, 'name'), 'is to be a text of 1 to 256 characters');
    if (place === 'cookie') continue;
    if (place !== 'path' && place !== 'query' && place !== 'header')
      throw new DescriptionFault(below(at, 'in'), 'is to be "path", "query", "header" or "cookie"');
    if (place === 'header' && SAID_OTHERWISE.has(name.toLowerCase())) continue;
    if (place === 'header' && !HEADER_NAME.test(name))
      throw new DescriptionFault(below(at, 'name'), 'is not the name of a header');
    found.set(`${place} ${name}`, { value, at, name, in: place });
  }
  if (found.size > MOST_PARAMETERS) throw new NotOffered(`has more than ${MOST_PARAMETERS} parameters`);
  const inPath = new Set([...operation.path.matchAll(/\{([^{}]*)\}/g)].map(([, name]) => name!));
  for (const name of inPath) {
    if (!found.has(`path ${name}`))
      throw new DescriptionFault(operation.at, `has no parameter for {${name.slice(0, 80)}} of its path`);
  }
  // One that the path does not name goes nowhere.
  return [...found.values()].filter((each) => each.in !== 'path' || inPath.has(each.name));
}

function argumentName({ name, in: place }: Parameter, taken: ReadonlyMap<string, unknown>): string {
  const plain = name.replace(FOREIGN, '_').slice(0, LONGEST_ARGUMENT);
  if (plain !== BODY && !taken.has(plain)) return plain;
  for (let count = 1; ; count++) {
    const other = `${place}_${plain}`.slice(0, LONGEST_ARGUMENT - 4) + (count > 1 ? `_${count}` : '');
    if (!taken.has(other)) return other;
  }
}

function formOf({ value, at, name, in: place }: Parameter, references: References, extent: Extent) {
  const content = memberOf(value, 'content');
  if (content !== undefined) {
    const kinds = Object.entries(objectAt(content, below(at, 'content')));
    const json = kinds.find(([type]) => isJson(type));
    if (!json) throw new NotOffered(`takes ${name.slice(0, 80)} in a form that is not JSON`);
    const inside = below(at, 'content', json[0]);
    const schema = memberOf(objectAt(json[1], inside), 'schema') ?? {};
    const style = 'json' as const;
    return { schema: references.schema(schema, below(inside, 'schema'), extent), style, explode: false };
  }
  const given = memberOf(value, 'style') ?? (place === 'query' ? 'form' : 'simple');
  const style = STYLES[place].find((each) => each === given);
  if (style === undefined)
    throw new NotOffered(`takes ${name.slice(0, 80)} in a style that the gateway does not write`);
  const explode = memberOf(value, 'explode') ?? style === 'form';
  const schema = references.schema(memberOf(value, 'schema') ?? {}, below(at, 'schema'), extent);
  return { schema, style, explode: explode === true };
}

const isJson = (type: string): boolean =>
  /^(?:application\/(?:[\w.-]+\+)?json(?:\s*;.*)?|\*\/\*|application\/\*)$/i.test(type);

function bodyOf({ given, at }: Operation, references: References, extent: Extent) {
  const asked = memberOf(given, 'requestBody');
  if (asked === undefined) return null;
  const body = references.follow(asked, below(at, 'requestBody'));
  const isRequired = memberOf(body.value, 'required') === true;
  const place = below(body.at, 'content');
  const kinds = Object.entries(objectAt(memberOf(body.value, 'content'), place));
  const found = kinds.find(([type]) => isJson(type)) ?? kinds.find(([type]) => type.toLowerCase() === FORM);
  if (!found) {
    if (isRequired) throw new NotOffered('needs a body that is neither JSON nor a form');
    return null;
  }
  const media = objectAt(found[1], below(place, found[0]));
  const schema = references.schema(memberOf(media, 'schema') ?? {}, below(place, found[0], 'schema'), extent);
  const said = memberOf(body.value, 'description');
  const described =
    typeof said === 'string' && schema.description === undefined ? { ...schema, description: said } : schema;
  // What it is sent as stands in a header.
  const isPlain = /^application\/[\w.+-]+$/.test(found[0]);
  return { schema: described, isRequired, type: isPlain ? found[0].toLowerCase() : 'application/json' };
}
