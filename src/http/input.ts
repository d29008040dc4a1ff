import type * as z from 'zod';
import { fail } from '../core/errors.ts';
import { CHECKED_LIMITS, LARGE_CHECKED_LIMITS, shapeFault } from '../core/json-shape.ts';
import { arrivingBody } from './arriving.ts';
import { failLikeOpenai, paramOf } from './openai-faults.ts';

/** The largest JSON body of the gateway's own routes that say nothing else. */
const MAX_JSON_BYTES = 1 << 20;

/** In whose words faults are told: our own, or those of OpenAI's API on routes of its objects. */
export type Wording = 'own' | 'openai';

/** Collects a body of at most `limit` bytes. */
export async function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  const declared = Number(request.headers.get('content-length') ?? Number.NaN);
  if (declared > limit) fail('body_too_large', limit);
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of arrivingBody(request) ?? []) {
    size += piece.byteLength;
    if (size > limit) fail('body_too_large', limit);
    pieces.push(piece);
  }
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}

/** The JSON body of one of our own routes, checked by its schema. */
export async function readJson<Schema extends z.ZodType>(
  request: Request,
  schema: Schema,
  wording: Wording = 'own',
  /** Gets the body as it was sent, before it is checked. */
  seen?: (value: unknown) => void,
  largest: number = MAX_JSON_BYTES,
): Promise<z.infer<Schema>> {
  const type = request.headers.get('content-type') ?? '';
  const bytes = await readBytes(request, largest);
  if (bytes.length === 0) return checked(schema, {}, 'body', wording);
  if (!/^application\/(json|[\w.+-]*\+json)\b/i.test(type)) fail('unsupported_media_type', type);
  const value = parseJson(bytes, wording, largest > MAX_JSON_BYTES ? LARGE_CHECKED_LIMITS : CHECKED_LIMITS);
  seen?.(value);
  return byItsSchema(schema, value, 'body', wording);
}

/** JSON that a schema is to check, refused before it is parsed where checking it would hold up other requests. */
export function parseJson(bytes: Uint8Array, wording: Wording = 'own', limits = CHECKED_LIMITS): unknown {
  const fault = shapeFault(bytes, limits);
  if (fault) refuse(wording, fault.member ?? 'body', fault.why);
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
    value = JSON.parse(text);
  } catch (error) {
    return fail('invalid_json', error instanceof SyntaxError ? error.message : 'it is not UTF-8');
  }
  // Neither can be written in JSON without an escape.
  if (text.includes('\\u')) refuseUnstorable(value, 'body', wording);
  return value;
}

/**
 * The query of one of our own routes, checked by its schema. A parameter given twice is refused, unless it is a list by its name:
 * `include[]=a&include[]=b`, as clients of vendors write it.
 */
export function readQuery<Schema extends z.ZodType>(
  search: string,
  schema: Schema,
  wording: Wording = 'own',
): z.infer<Schema> {
  const query: Record<string, string | readonly string[]> = {};
  const given = new URLSearchParams(search);
  for (const [name, one] of given) {
    const isAgain = Object.hasOwn(query, name);
    if (isAgain && !name.endsWith('[]')) refuse(wording, name, 'is given twice in the query');
    const value = isAgain ? given.getAll(name) : one;
    Object.defineProperty(query, name, { value, enumerable: true, configurable: true });
  }
  return checked(schema, query, 'query', wording);
}

/** The value as its schema knows it, or a 400 with the path of the first fault; `whole` names the value itself. */
export function checked<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  whole: string,
  wording: Wording = 'own',
): z.infer<Schema> {
  refuseUnstorable(value, whole, wording);
  return byItsSchema(schema, value, whole, wording);
}

function byItsSchema<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  whole: string,
  wording: Wording,
): z.infer<Schema> {
  const faults = faultsInLists(schema, value);
  if (faults) return refuseBy(faults, { schema, value, whole, wording });
  const { success, data, error } = schema.safeParse(value);
  return success ? data : refuseBy(error.issues, { schema, value, whole, wording });
}

/** Lists up to this length are checked whole. */
const LONG_LIST = 200;

/**
 * The faults of the first element of a long list that has some; null where none has. A schema collects those of all, and
 * ten thousand of them take longer than other requests should wait.
 */
function faultsInLists(schema: z.ZodType, value: unknown): Issue[] | null {
  const shape = shapeOf(schema);
  if (!shape || value === null || typeof value !== 'object') return null;
  for (const [name, list] of Object.entries(value)) {
    const element = Array.isArray(list) && list.length > LONG_LIST && shape[name] ? elementOf(shape[name]) : null;
    if (!element) continue;
    for (const [index, each] of (list as unknown[]).entries()) {
      const { error } = element.safeParse(each);
      if (error) return error.issues.map((issue) => ({ ...issue, path: [name, index, ...issue.path] }));
    }
  }
  return null;
}

type AnySchema = z.ZodType & {
  readonly shape?: Record<string, AnySchema>;
  readonly element?: AnySchema;
  readonly unwrap?: () => AnySchema;
};

const shapeOf = (schema: z.ZodType): Record<string, AnySchema> | null => (schema as AnySchema).shape ?? null;

/** What the elements of a list are checked by, also where the list may be absent. */
function elementOf(schema: AnySchema): AnySchema | null {
  if (schema.element) return schema.element;
  return schema.unwrap ? elementOf(schema.unwrap()) : null;
}

interface Refused {
  readonly schema: z.ZodType;
  readonly value: unknown;
  readonly whole: string;
  readonly wording: Wording;
}

function refuseBy(issues: readonly Issue[], { schema, value, whole, wording }: Refused): never {
  if (wording === 'openai') return failLikeOpenai(schema, value, issues[0]!);
  const [issue, ...more] = issues.flatMap(closest);
  const others = more.slice(0, 4).map((each) => `${paramOf(each.path) || whole}: ${each.message}`);
  const also = others.length > 0 ? ` (also ${others.join('; ')})` : '';
  if (issue?.code === 'unrecognized_keys') {
    const name = issue.keys[0] ?? '';
    return fail('invalid_request', [paramOf(issue.path), name].filter(Boolean).join('.'), `is not known here${also}`);
  }
  return fail('invalid_request', paramOf(issue?.path ?? []) || whole, `${issue?.message ?? 'is not valid'}${also}`);
}

type Issue = z.core.$ZodIssue;

/** Of a value that fits no form of a union, the faults of the one form that it has the type of. */
function closest(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const isOfOtherType = (issues: Issue[]) => issues.some(({ code, path }) => code === 'invalid_type' && !path.length);
  const [form, ...others] = issue.errors.filter((issues) => !isOfOtherType(issues));
  if (!form || others.length > 0) return [issue];
  return form.flatMap(closest).map((each) => ({ ...each, path: [...issue.path, ...each.path] }));
}

/**
 * PostgreSQL stores no text with U+0000; refusing it here keeps both stores alike. Half of a surrogate pair would be read
 * back as another character, except from objects of OpenAI's API: those are kept as JSON, which escapes it.
 */
function refuseUnstorable(value: unknown, whole: string, wording: Wording) {
  const members = value !== null && typeof value === 'object' ? Object.entries(value) : [[whole, value] as const];
  for (const member of members) {
    if (holdsText(member, (text) => text.includes('\0'))) refuse(wording, member[0], 'must not contain U+0000');
    if (wording === 'own' && holdsText(member, (text) => !text.isWellFormed()))
      refuse(wording, member[0].toWellFormed(), 'must not contain half of a surrogate pair');
  }
}

const refuse = (wording: Wording, param: string, why: string): never =>
  wording === 'openai'
    ? fail('invalid_value', param, `Invalid '${param}': it ${why}.`)
    : fail('invalid_request', param, why);

/** Without recursion: a body may be nested deeper than the stack. */
function holdsText(value: unknown, isSought: (text: string) => boolean): boolean {
  const waiting = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next === 'string' && isSought(next)) return true;
    if (next === null || typeof next !== 'object') continue;
    for (const name in next) waiting.push(name, (next as Record<string, unknown>)[name]);
  }
  return false;
}
