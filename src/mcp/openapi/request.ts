import type { ApiArgument } from './parameters.ts';
import type { ApiTool } from './tools.ts';

/** Why a call cannot be made of the arguments that a model gave; for the model. */
export class ArgumentFault extends Error {}

export interface ApiRequest {
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: { readonly type: string; readonly bytes: Uint8Array } | null;
}

type Values = Readonly<Record<string, unknown>>;
const isValues = (value: unknown): value is Values =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** The request that a call of a tool is. What a model gives stays a part of the path, a value, or the body. */
export function requestOf(tool: ApiTool, given: Values, base: string): ApiRequest {
  const { properties, required = [] } = tool.definition.inputSchema;
  const known = Object.keys(properties);
  const giving = (argument: string): unknown => (Object.hasOwn(given, argument) ? given[argument] : undefined);
  const isGiven = (argument: string) => giving(argument) !== undefined && giving(argument) !== null;
  for (const name of Object.keys(given)) {
    if (!known.includes(name))
      throw new ArgumentFault(`There is no argument ${quoted(name)}. Known arguments: ${known.join(', ') || 'none'}.`);
  }
  const isBody = (name: string) => name === tool.body?.argument;
  for (const name of required) {
    // A body may be null; nothing else may.
    if (!isGiven(name) && !(isBody(name) && giving(name) === null))
      throw new ArgumentFault(`The argument ${quoted(name)} is missing.`);
  }
  const inPlace = (place: ApiArgument['in']) =>
    tool.arguments.filter((each) => each.in === place && known.includes(each.argument) && isGiven(each.argument));
  const pairs = inPlace('query').flatMap((each) => queryPairs(each, giving(each.argument), properties[each.argument]));
  const query = pairs.map(([name, value]) => `${encoded(name)}=${value}`).join('&');
  const path = filledPath(tool, giving);
  const headers = inPlace('header').map((each) => {
    const value = simple(each, giving(each.argument), (text) => text);
    if (!/^[\x20-\x7e]*$/.test(value))
      throw new ArgumentFault(
        `The argument ${quoted(each.argument)} is sent in a header, which holds printable ASCII alone.`,
      );
    return [each.name, value] as const;
  });
  return { url: below(base, path, query), headers, body: bodyOf(tool, giving) };
}

/** Below the address of the API, whatever the path says. */
function below(base: string, path: string, query: string): string {
  const start = new URL(base);
  const root = start.pathname.replace(/\/+$/, '');
  const url = URL.parse(`${start.origin}${root}${path}${query && `?${query}`}`);
  if (!url || url.origin !== start.origin || !url.pathname.startsWith(`${root}/`) || url.hash !== '')
    throw new ArgumentFault('The arguments lead out of the API.');
  return url.href;
}

function filledPath(tool: ApiTool, giving: (argument: string) => unknown): string {
  const values = new Map(tool.arguments.flatMap((each) => (each.in === 'path' ? [[each.name, each] as const] : [])));
  const filled = tool.path
    .split(/(\{[^{}]*\})/)
    .map((part) => {
      const argument = part.startsWith('{') ? values.get(part.slice(1, -1)) : undefined;
      return argument
        ? pathPart(argument, giving(argument.argument))
        : encodeURI(part).replace(/[?#]/g, encodeURIComponent);
    })
    .join('');
  // Two parts side by side may make dots of what were none.
  if (hasDots(filled)) throw new ArgumentFault('The arguments make a path of dots, which leads elsewhere.');
  return filled;
}

function pathPart(each: ApiArgument, value: unknown): string {
  const text = simple(each, value, (part) => {
    if (part === '')
      throw new ArgumentFault(`The argument ${quoted(each.argument)} is part of the path and cannot be empty.`);
    if (hasDots(part) || [...part].some((character) => character < ' ' || character === '\u007f'))
      throw new ArgumentFault(`The argument ${quoted(each.argument)} is part of the path, and leads elsewhere.`);
    return encoded(part);
  });
  if (text === '')
    throw new ArgumentFault(`The argument ${quoted(each.argument)} is part of the path and cannot be empty.`);
  return text;
}

/** Whether a segment is `.` or `..` for a server that unescapes it, however often. */
function hasDots(text: string): boolean {
  for (let current = text, times = 0; times < 4; times++) {
    if (current.split(/[/\\]/).some((segment) => /^\.{1,2}(?:;.*)?$/.test(segment))) return true;
    const next = current.replace(/%(2e|2f|5c|25)/gi, (coded) => decodeURIComponent(coded));
    if (next === current) return false;
    current = next;
  }
  // What is escaped more often was made to hide something.
  return true;
}

/** Names as they are, and values encoded: what stands between the parts of one is not a part. */
function queryPairs(each: ApiArgument, value: unknown, schema: unknown): [name: string, value: string][] {
  const { name, style, explode } = each;
  if (style === 'json') return [[name, encoded(JSON.stringify(value))]];
  if (Array.isArray(value)) {
    const texts = value.map((item) => encoded(scalar(each, item)));
    if (style === 'deepObject') return texts.map((text) => [`${name}[]`, text]);
    if (explode) return texts.map((text) => [name, text]);
    const separator = style === 'spaceDelimited' ? '%20' : style === 'pipeDelimited' ? '%7C' : ',';
    return texts.length === 0 ? [] : [[name, texts.join(separator)]];
  }
  if (!isValues(value)) return [[name, encoded(scalar(each, value))]];
  const members = Object.entries(value).map(([key, item]) => [key, encoded(scalar(each, item))] as const);
  if (style === 'deepObject') return members.map(([key, text]) => [`${name}[${key}]`, text]);
  if (!explode) return [[name, members.flatMap(([key, text]) => [encoded(key), text]).join(',')]];
  // Its members become parameters of their own, and those the description names.
  const named = isValues(schema) && isValues(schema.properties) ? Object.keys(schema.properties) : [];
  for (const [key] of members) {
    if (!named.includes(key))
      throw new ArgumentFault(`The argument ${quoted(each.argument)} has no member ${quoted(key)}.`);
  }
  return members.map(([key, text]) => [key, text]);
}

function simple(each: ApiArgument, value: unknown, written: (part: string) => string): string {
  if (each.style === 'json') return written(JSON.stringify(value));
  if (Array.isArray(value)) return value.map((item) => written(scalar(each, item))).join(',');
  if (!isValues(value)) return written(scalar(each, value));
  return Object.entries(value)
    .map(([key, item]) => [written(key), written(scalar(each, item))].join(each.explode ? '=' : ','))
    .join(',');
}

function scalar({ argument }: ApiArgument, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new ArgumentFault(`The argument ${quoted(argument)} takes texts, numbers, true and false, or a list of them.`);
}

function encoded(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    throw new ArgumentFault('The arguments hold half of a character.');
  }
}

function bodyOf({ body }: ApiTool, giving: (argument: string) => unknown): ApiRequest['body'] {
  const value = body && giving(body.argument);
  if (!body || value === undefined) return null;
  if (!body.isForm) return { type: body.type, bytes: Buffer.from(JSON.stringify(value)) };
  if (!isValues(value)) throw new ArgumentFault(`The argument ${quoted(body.argument)} is a form: give an object.`);
  const each = { argument: body.argument, name: '', in: 'query', style: 'form', explode: true } as const;
  const pairs = Object.entries(value).flatMap(([name, item]) => {
    const items = Array.isArray(item) ? item : [item];
    return items.map((one) => `${encoded(name)}=${encoded(scalar(each, one))}`);
  });
  return { type: body.type, bytes: Buffer.from(pairs.join('&')) };
}

const quoted = (name: string): string => JSON.stringify(name.slice(0, 80));
