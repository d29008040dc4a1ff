import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ConverseRequest as AwsRequest,
  ConverseRequest$,
  ConverseResponse$,
  ConverseStreamOutput$,
} from '@aws-sdk/client-bedrock-runtime';
import type * as Google from '@google/genai';
import type { Cohere } from 'cohere-ai';
import * as cohereWire from '../../node_modules/cohere-ai/serialization/index.js';
import { encodeRequest as encodeCohere } from './cohere/encode.ts';
import { encodeRequest as encodeConverse } from './converse/encode.ts';
import { encodeRequest as encodeGemini } from './gemini/encode.ts';
import type * as Gemini from './gemini/wire.ts';
import type { JsonObject, ModelRequest } from './ir.ts';

/** The vendors' types and schemas judge what we write, and the answers that our fixtures say they give. */

const request: ModelRequest = { model: 'm', turns: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] };

interface Case {
  readonly request?: JsonObject;
  readonly reply?: JsonObject;
  readonly stream?: readonly { readonly event?: string; readonly data: unknown }[];
}

function casesOf(name: string): [file: string, Case][] {
  const folder = join(import.meta.dir, 'fixtures', name);
  return readdirSync(folder).map((file) => [file, JSON.parse(readFileSync(join(folder, file), 'utf8')) as Case]);
}

/** A vendor's type as it looks in JSON: enums are their words, bytes are base64. */
type Wire<Value> = Value extends string
  ? `${Value}`
  : Value extends Uint8Array
    ? string
    : Value extends readonly (infer Item)[]
      ? Wire<Item>[]
      : Value extends object
        ? { [Name in keyof Value]: Name extends AnyJson ? unknown : Wire<Value[Name]> }
        : Value;
/** Members of Amazon's types that hold JSON of any kind. */
type AnyJson = 'input' | 'json' | 'additionalModelRequestFields';

interface GoogleRequest {
  readonly contents: Wire<Google.Content>[];
  readonly systemInstruction?: Wire<Google.Content>;
  readonly tools?: Wire<Google.Tool>[];
  readonly toolConfig?: Wire<Google.ToolConfig>;
  readonly generationConfig?: Wire<Google.GenerationConfig>;
  readonly serviceTier?: `${Google.ServiceTier}`;
}

/** Members of ours that the vendor does not have. */
type Strange<Ours, Theirs> = Exclude<keyof Ours, keyof Theirs>;

test('a body for gemini is one of the vendor’s types', () => {
  const { body } = encodeGemini({ ...request, maxOutputTokens: 9 });
  body satisfies GoogleRequest;
  const strange: (
    | Strange<Gemini.Part, Google.Part>
    | Strange<Gemini.InlineData, Google.Blob>
    | Strange<Gemini.FunctionResponse, Google.FunctionResponse>
    | Strange<Gemini.Schema, Google.Schema>
    | Strange<Gemini.FunctionDeclaration, Google.FunctionDeclaration>
    | Strange<Gemini.Tool, Google.Tool>
    | Strange<Gemini.ToolConfig, Google.ToolConfig>
    | Strange<Gemini.ThinkingConfig, Google.ThinkingConfig>
    | Strange<Gemini.GenerationConfig, Google.GenerationConfig>
    | Strange<Gemini.GenerateContentRequest, GoogleRequest>
  )[] = [];
  strange satisfies never[];
  expect(body).toEqual({
    contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
    generationConfig: { maxOutputTokens: 9 },
  });
});

test('a body for converse is one of the vendor’s types', () => {
  const { body } = encodeConverse({ ...request, maxOutputTokens: 9 });
  body satisfies Omit<Wire<AwsRequest>, 'modelId'>;
  expect(body).toEqual({ messages: [{ role: 'user', content: [{ text: 'Hi' }] }], inferenceConfig: { maxTokens: 9 } });
});

type Snake<Name> = Name extends `${infer First}${infer Rest}`
  ? First extends Lowercase<First>
    ? `${First}${Snake<Rest>}`
    : `_${Lowercase<First>}${Snake<Rest>}`
  : Name;
type Snaked<Value> = Value extends readonly (infer Item)[]
  ? Snaked<Item>[]
  : Value extends object
    ? { [Name in keyof Value as Snake<Name>]: Snaked<Value[Name]> }
    : Value;

test('a body for cohere is one of the vendor’s types', () => {
  const { body } = encodeCohere({ ...request, maxOutputTokens: 9 });
  body satisfies Snaked<Cohere.V2ChatRequest>;
  expect(body).toEqual({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 9 });
});

/** Where a value differs from one of Amazon's schemas: `[kind, …, …, …, names, members, how many are required]`. */
function misfits(schema: unknown, value: unknown, path: string): string[] {
  if (typeof schema === 'function') return misfits(schema(), value, path);
  if (typeof schema === 'number') return misfitsSimple(schema, value, path);
  const [kind, ...rest] = schema as [unknown, ...unknown[]];
  // A schema with traits beside it.
  if (typeof kind !== 'number' || rest.length === 1) return misfits(kind, value, path);
  if (kind === 0) return misfitsSimple(0, value, path);
  if (kind === 1)
    return Array.isArray(value)
      ? value.flatMap((item, index) => misfits(rest[3], item, `${path}[${index}]`))
      : [`${path} is no list`];
  if (kind === 2)
    return Object.entries(value as object).flatMap(([name, item]) => misfits(rest[4], item, `${path}.${name}`));
  const [, , , names, members, required = 0] = rest as [unknown, unknown, unknown, string[], unknown[], number?];
  const given = Object.keys(value as object);
  const missing = kind === 3 ? names.slice(0, required).filter((name) => !given.includes(name)) : [];
  return [
    ...missing.map((name) => `${path}.${name} is missing`),
    ...(kind === 4 && given.length !== 1 ? [`${path} has ${given.length} members instead of one`] : []),
    ...given.flatMap((name) => {
      const at = names.indexOf(name);
      if (at < 0) return [`${path}.${name} is not known`];
      return misfits(members[at], (value as JsonObject)[name], `${path}.${name}`);
    }),
  ];
}

const LIST = 64;
const SIMPLE: Readonly<Record<number, string>> = { 0: 'string', 1: 'number', 2: 'boolean', 21: 'string', 42: 'string' };

function misfitsSimple(schema: number, value: unknown, path: string): string[] {
  if (schema >= LIST)
    return Array.isArray(value)
      ? value.flatMap((item, index) => misfitsSimple(schema - LIST, item, `${path}[${index}]`))
      : [`${path} is no list`];
  const wanted = SIMPLE[schema];
  return wanted === undefined || wanted === typeof value ? [] : [`${path} is no ${wanted}`];
}

test('Amazon’s schemas notice what is wrong', () => {
  const wrong = { modelId: 'm', messages: [{ role: 'user', content: [{ txt: 'x' }, { text: 7 }] }], strange: 1 };
  expect(misfits(ConverseRequest$, wrong, 'body')).toEqual([
    'body.messages[0].content[0].txt is not known',
    'body.messages[0].content[1].text is no string',
    'body.strange is not known',
  ]);
  expect(misfits(ConverseRequest$, {}, 'body')).toEqual(['body.modelId is missing']);
});

for (const [file, { request: body, reply, stream }] of casesOf('converse'))
  test(`converse/${file}: Amazon’s own schemas have no objection`, () => {
    if (body) expect(misfits(ConverseRequest$, { modelId: 'm', ...body }, 'body')).toEqual([]);
    if (reply) expect(misfits(ConverseResponse$, reply, 'reply')).toEqual([]);
    for (const { event = '', data } of stream ?? []) {
      const { p, ...payload } = data as JsonObject;
      const name = event.replace('exception/', '');
      expect(misfits(ConverseStreamOutput$, { [name]: payload }, 'event')).toEqual([]);
    }
  });

const strictly = { unrecognizedObjectKeys: 'fail' } as const;

for (const [file, { request: body, reply, stream }] of casesOf('cohere'))
  test(`cohere/${file}: Cohere’s own schemas have no objection`, () => {
    if (body) {
      const { stream: isStream, ...rest } = body;
      expect(cohereWire.V2ChatRequest.parse(rest, strictly)).toMatchObject({ ok: true });
    }
    if (reply) expect(cohereWire.V2ChatResponse.parse(reply, strictly)).toMatchObject({ ok: true });
    // The start lists more than the schema says, and a body of an error is no event.
    for (const { event, data } of stream ?? [])
      if (event && event !== 'message-start')
        expect(cohereWire.V2ChatStreamResponse.parse(data, strictly)).toMatchObject({ ok: true });
  });
