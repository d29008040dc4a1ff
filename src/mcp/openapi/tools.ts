import { createHash } from 'node:crypto';
import {
  below,
  DescriptionFault,
  isObject,
  type Json,
  memberOf,
  NotOffered,
  objectAt,
  withoutControl,
} from './fault.ts';
import { type ApiArgument, type ApiBody, argumentsOf } from './parameters.ts';
import { readDescription } from './reading.ts';
import { MOST_PARTS_OF_ONE, References, TooLarge } from './schemas.ts';

export const METHODS = ['get', 'put', 'post', 'delete', 'patch'] as const;
export type Method = (typeof METHODS)[number];

/** Which operations are meant. Of several members each must fit; of the entries of one, any. */
export interface OperationFilter {
  readonly tags?: readonly string[];
  readonly methods?: readonly Method[];
  readonly operations?: readonly string[];
}

export interface Wanted {
  readonly include?: OperationFilter;
  readonly exclude?: OperationFilter;
}

/** A tool that calls an operation of an API. */
export interface ApiTool {
  readonly method: Method;
  /** With `{names}` of arguments. */
  readonly path: string;
  /** As clients see it. */
  readonly definition: Json & { readonly name: string; readonly inputSchema: InputSchema };
  readonly arguments: readonly ApiArgument[];
  readonly body: ApiBody | null;
}

export interface InputSchema {
  readonly type: 'object';
  readonly properties: Json;
  readonly required?: readonly string[];
  readonly additionalProperties: false;
}

/** What is kept of a description. */
export interface ApiTools {
  readonly title: string | null;
  readonly version: string | null;
  readonly tools: readonly ApiTool[];
  /** Operations without a tool, and why; for people. */
  readonly leftOut: readonly string[];
}

const MOST_OPERATIONS = 500;
const MOST_BYTES = 1 << 20;
const MOST_BYTES_OF_ONE = 32 << 10;
const LONGEST_DESCRIPTION = 2_000;
const LONGEST_NAME = 64;
const LONGEST_PATH = 1_024;
const MOST_LEFT_OUT = 20;
/** Schemas that take too much are tried with fewer levels. Twice as many levels of JSON stay below what policies read. */
const LEVELS = [20, 6, 3, 1];

/** So long other calls wait for a description, in milliseconds. */
const MOST_AT_ONCE_MS = 10;

/** The tools of a description. Throws `DescriptionFault`. */
export async function toolsOfDescription(text: string, wanted: Wanted): Promise<ApiTools> {
  const { root, isOld } = readDescription(text);
  const references = new References(root, isOld);
  const info = memberOf(root, 'info');
  const names = new Map<string, string>();
  const tools: ApiTool[] = [];
  const leftOut: string[] = [];
  let bytes = 0;
  let since = performance.now();
  for (const operation of operationsOf(root, references)) {
    if (!isWanted(operation, wanted)) continue;
    if (tools.length + leftOut.length >= MOST_OPERATIONS)
      throw new DescriptionFault('/paths', `has more than ${MOST_OPERATIONS} operations; say which ones to include`);
    if (performance.now() - since > MOST_AT_ONCE_MS) {
      await new Promise((resolve) => setImmediate(resolve));
      since = performance.now();
    }
    try {
      const tool = toolOf(operation, references, nameOf(operation, names));
      bytes += JSON.stringify(tool).length;
      if (bytes > MOST_BYTES)
        throw new DescriptionFault(
          operation.at,
          `is too much: all tools together take more than ${MOST_BYTES} bytes; include fewer operations`,
        );
      tools.push(tool);
    } catch (error) {
      if (!(error instanceof NotOffered)) throw error;
      leftOut.push(`${shownOperation(operation)} ${error.message}`);
    }
  }
  if (tools.length === 0)
    throw new DescriptionFault(
      '/paths',
      ['has no operation that a tool could be made of', ...leftOut.slice(0, 3)].join('; '),
    );
  const shownLeftOut = leftOut.slice(0, MOST_LEFT_OUT);
  if (leftOut.length > MOST_LEFT_OUT) shownLeftOut.push(`and ${leftOut.length - MOST_LEFT_OUT} more`);
  return { title: shortText(info, 'title'), version: shortText(info, 'version'), tools, leftOut: shownLeftOut };
}

export interface Operation {
  readonly method: Method;
  readonly path: string;
  readonly at: string;
  readonly given: Json;
  /** Parameters of the path come first. */
  readonly parameters: readonly { readonly value: unknown; readonly at: string }[];
}

function* operationsOf(root: Json, references: References): Generator<Operation> {
  const paths = objectAt(memberOf(root, 'paths'), '/paths');
  for (const [path, value] of Object.entries(paths)) {
    if (path.startsWith('x-')) continue;
    const place = below('/paths', path);
    if (!path.startsWith('/')) throw new DescriptionFault(place, 'is no path; it is to begin with a slash');
    if (!path.isWellFormed()) throw new DescriptionFault('/paths', 'has a path that holds half of a character');
    const item = references.follow(value, place);
    for (const method of METHODS) {
      const given = memberOf(item.value, method);
      if (given === undefined) continue;
      const at = below(item.at, method);
      const own = listAt(objectAt(given, at), at);
      yield { method, path, at, given: given as Json, parameters: [...listAt(item.value, item.at), ...own] };
    }
  }
}

function listAt(given: Json, at: string) {
  const list = memberOf(given, 'parameters') ?? [];
  const place = below(at, 'parameters');
  if (!Array.isArray(list)) throw new DescriptionFault(place, 'is to be a list');
  return list.map((value, index) => ({ value, at: below(place, index) }));
}

function isWanted({ method, given }: Operation, { include, exclude }: Wanted): boolean {
  const tags = memberOf(given, 'tags');
  const facts = {
    tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [],
    methods: [method],
    operations: [memberOf(given, 'operationId')].filter((id) => typeof id === 'string'),
  };
  const holds = (filter: OperationFilter, name: keyof typeof facts) =>
    (facts[name] as string[]).some((fact) => (filter[name] as readonly string[]).includes(fact));
  const membersOf = (filter: OperationFilter) =>
    (['tags', 'methods', 'operations'] as const).filter((name) => filter[name]);
  if (include && !membersOf(include).every((name) => holds(include, name))) return false;
  return !(exclude && membersOf(exclude).some((name) => holds(exclude, name)));
}

/** As models may call it. What has to be changed in a name is marked with a hash, so that no two become one. */
function nameOf(operation: Operation, taken: Map<string, string>): string {
  const { method, path, given, at } = operation;
  const id = memberOf(given, 'operationId');
  const place = below(at, 'operationId');
  if (id !== undefined && (typeof id !== 'string' || id === '')) throw new DescriptionFault(place, 'is to be a text');
  const full = typeof id === 'string' ? id : `${method}${path.replace(/[/{}.]+/g, '_').replace(/_$/, '')}`;
  const plain = full.replace(/[^a-zA-Z0-9_-]/gu, '_');
  const isExact = (id === undefined || plain === full) && plain.length <= LONGEST_NAME;
  const hash = createHash('sha256')
    .update(id === undefined ? `${method} ${path}` : full)
    .digest('hex')
    .slice(0, 8);
  const marked = `${plain.slice(0, LONGEST_NAME - 9)}_${hash}`;
  const name = isExact && !(id === undefined && taken.has(plain)) ? plain : marked;
  const other = taken.get(name);
  if (other !== undefined) throw new DescriptionFault(place, `is that of ${other}, too; give each operation its own`);
  taken.set(name, shownOperation(operation));
  return name;
}

function toolOf(operation: Operation, references: References, name: string): ApiTool {
  if (operation.path.length > LONGEST_PATH) throw new NotOffered(`has a path of more than ${LONGEST_PATH} characters`);
  for (const levels of LEVELS) {
    try {
      const tool = toolWithin(operation, references, { name, levels });
      if (Buffer.byteLength(JSON.stringify(tool.definition)) <= MOST_BYTES_OF_ONE) return tool;
    } catch (error) {
      if (!(error instanceof TooLarge)) throw error;
    }
  }
  throw new NotOffered(`takes more than ${MOST_BYTES_OF_ONE} bytes to describe`);
}

function toolWithin(
  operation: Operation,
  references: References,
  { name, levels }: { readonly name: string; readonly levels: number },
): ApiTool {
  const { method, path } = operation;
  const extent = { levels, parts: MOST_PARTS_OF_ONE };
  const { properties, required, list, body } = argumentsOf(operation, references, extent);
  const inputSchema: InputSchema = {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
  const isReading = method === 'get';
  const title = shortText(operation.given, 'summary');
  const annotations = {
    ...(title !== null && { title }),
    readOnlyHint: isReading,
    ...(!isReading && { destructiveHint: method !== 'post', idempotentHint: method === 'put' || method === 'delete' }),
    openWorldHint: true,
  };
  // In the definition, so that pins hold it: the same name must not come to mean another operation.
  const _meta = { 'gateway/operation': shownOperation(operation) };
  const definition = { name, description: describing(operation), inputSchema, annotations, _meta };
  return { method, path, definition, arguments: list, body };
}

function describing(operation: Operation): string {
  const texts = ['summary', 'description'].flatMap((name) => {
    const text = memberOf(operation.given, name);
    return typeof text === 'string' && text.trim() !== '' ? [readable(text)] : [];
  });
  const said = [...new Set(texts)].join('\n\n') || shownOperation(operation);
  return said.length > LONGEST_DESCRIPTION ? `${said.slice(0, LONGEST_DESCRIPTION).toWellFormed()}…` : said;
}

/** Without what people do not see; line ends stay. */
const readable = (text: string): string =>
  text
    .split(/\r?\n/)
    .map((line) => withoutControl(line.replaceAll('\t', ' ')))
    .join('\n')
    .trim();

const shownOperation = ({ method, path }: Operation): string =>
  withoutControl(`${method.toUpperCase()} ${path.slice(0, LONGEST_PATH)}`);

function shortText(value: unknown, name: string): string | null {
  const text = isObject(value) ? memberOf(value, name) : undefined;
  return typeof text === 'string' && text !== '' ? withoutControl(text).slice(0, 256).toWellFormed() : null;
}
