import { seeded } from '../../fuzz.ts';
import { ANY_BODY, EXAMPLES, HELLO, withKnown } from './examples.ts';
import { fitting, type Json, type Known, type Making, oddText, type Random, type Schema, spoiled } from './values.ts';

/** One operation as `/openapi.json` describes it. */
export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly query: readonly { readonly name: string; readonly schema: Schema; readonly required: boolean }[];
  readonly body: { readonly type: string; readonly schema: Schema } | null;
}

export interface FuzzCall {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | FormData | undefined;
  /** The operation's path as the description has it. */
  readonly template: string;
}

interface Described {
  readonly paths: Record<string, Record<string, DescribedOperation>>;
  readonly components?: { readonly schemas?: Record<string, Schema> };
}

interface DescribedOperation {
  readonly parameters?: readonly {
    readonly in: string;
    readonly name: string;
    readonly schema?: Schema;
    readonly required?: boolean;
  }[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema?: Schema }> };
}

/** Every operation of the description: a new route is attacked without a word here. */
export function operationsIn(description: unknown): { operations: Operation[]; schemas: Record<string, Schema> } {
  const { paths, components } = description as Described;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody }]) => {
      const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
      return {
        method: method.toUpperCase(),
        path,
        query: parameters
          .filter((each) => each.in === 'query')
          .map(({ name, schema = {}, required = false }) => ({ name, schema, required })),
        body: type ? { type, schema: content?.schema ?? {} } : null,
      };
    }),
  );
  return { operations, schemas: components?.schemas ?? {} };
}

/** Configs that a caller brings along. */
const CONFIGS: readonly Json[] = [
  { virtual_key: 'sim', retry: { attempts: 2, on_status_codes: [500] } },
  { strategy: { mode: 'fallback' }, targets: [{ virtual_key: 'none' }, { virtual_key: 'sim' }] },
  { virtual_key: 'sim', input_guardrails: [{ 'default.contains': { words: ['x'], operator: 'none' }, deny: true }] },
  { virtual_key: 'sim', override_params: { model: 'x', temperature: 1 }, cache: { mode: 'simple', max_age: 60 } },
  {
    strategy: {
      mode: 'conditional',
      conditions: [{ query: { 'metadata.a': { $eq: 'b' } }, then: 'one' }],
      default: 'one',
    },
    targets: [{ name: 'one', virtual_key: 'sim' }],
  },
];

export interface FuzzPlan {
  readonly operations: readonly Operation[];
  /** Those that make something for the others to meet. */
  readonly makers: readonly Operation[];
  readonly schemas: Record<string, Schema>;
  readonly keys: readonly string[];
}

/** What earlier calls have made, for later calls to name. */
export interface Made {
  known(random: Random): Known;
  /** The address of a thing that lies at the beginning of this template, and what of the template is left. */
  instance(template: string, random: Random): { path: string; rest: string };
}

/** The call of that number: the same for the same seed and the same things that are made by then. */
export function fuzzCall(seed: number, number: number, plan: FuzzPlan, made: Made): FuzzCall {
  const random = seeded(seed * 1_000_003 + number);
  const known = made.known(random);
  const operation = random.chance(0.3) ? random.pick(plan.makers) : plan.operations[number % plan.operations.length]!;
  const making = { random, known, schemas: plan.schemas };
  const headers: Record<string, string> = { 'x-gateway-api-key': random.pick(plan.keys) };
  if (random.chance(0.8)) headers['x-gateway-virtual-key'] = 'sim';
  else if (random.chance(0.5)) headers['x-gateway-config'] = headerOf(random.pick(CONFIGS), random);
  if (random.chance(0.1)) headers['x-gateway-metadata'] = headerOf({ a: 'b' }, random);
  return {
    name: `${operation.method} ${operation.path}`,
    method: operation.method,
    path: pathOf(operation.path, making, made) + queryOf(operation, making),
    headers,
    body: bodyOf(operation, making, headers),
    template: operation.path,
  };
}

function pathOf(template: string, { random, known }: Making, made: Made): string {
  if (template.startsWith('/v1/proxy/') && random.chance(0.6)) return '/v1/proxy/echo';
  if (template === '/v1/{path}' && random.chance(0.6)) return '/v1/echo';
  const { path, rest } = random.chance(0.8) ? made.instance(template, random) : { path: '', rest: template };
  const filled = rest.replace(/\{(\w+)\}/g, (_, name: string) => {
    const found = random.chance(0.7) ? known(name) : null;
    return encodeURIComponent(found ?? oddText(random).slice(0, 200)) || 'x';
  });
  return path + filled;
}

function queryOf({ query }: Operation, making: Making): string {
  const { random } = making;
  const pairs = query
    .filter(({ required }) => random.chance(required ? 0.9 : 0.2))
    .map(({ name, schema }) => {
      const value = random.chance(0.2) ? oddText(random) : fitting(schema, making, name);
      const text = typeof value === 'string' ? value.toWellFormed() : JSON.stringify(value);
      return `${encodeURIComponent(name)}=${encodeURIComponent(text)}`;
    });
  return pairs.length > 0 ? `?${pairs.join('&')}` : '';
}

/** What a header may carry: the rest of Unicode is escaped, and what is too long for a header is cut. */
const headerOf = (value: Json, random: Random): string =>
  JSON.stringify(spoiled(value, random))
    .slice(0, 6_000)
    .replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

function bodyOf({ method, path, body }: Operation, making: Making, headers: Record<string, string>) {
  const { random } = making;
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return undefined;
  if (body?.type === 'multipart/form-data') return formOf(body, random);
  const example = EXAMPLES[path];
  if (!body && example === undefined && random.chance(0.5)) return undefined;
  headers['content-type'] = 'application/json';
  const isFitted = body && (example === undefined || random.chance(0.5));
  const right = isFitted ? fitting(body.schema, making) : withKnown(example ?? ANY_BODY, making.known);
  return JSON.stringify(spoiled(right, random));
}

const LINE = JSON.stringify({
  custom_id: 'a',
  method: 'POST',
  url: '/v1/chat/completions',
  body: { messages: [HELLO] },
});
const CONTENTS = ['', 'text', LINE, '\u0000\u0001', `${LINE}\n{`, '# A heading\n\nWords to look for.'];

function formOf({ schema }: NonNullable<Operation['body']>, random: Random): FormData {
  const form = new FormData();
  const [member = 'file'] = Object.keys(schema.properties ?? {});
  const name = random.chance(0.9) ? member : 'other';
  form.append(name, new Blob([random.pick(CONTENTS)]), random.pick(['a.jsonl', 'a.txt', 'a.md', '..']));
  if (member === 'file') form.append('purpose', random.pick(['assistants', 'batch', 'fine-tune', 'vision', 'x']));
  if (random.chance(0.2)) form.append('expires_after[seconds]', oddText(random));
  return form;
}
