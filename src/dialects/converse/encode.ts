import { borrow } from '../borrowed.ts';
import type { ModelRequest } from '../ir.ts';
import { objectIn, present } from '../json.ts';
import { Losses } from '../losses.ts';
import type { EncodedWithFetches } from '../remote-media.ts';
import { encodeTurns, type Notes } from './encode-messages.ts';
import { encodeReasoning } from './encode-reasoning.ts';
import { encodeToolConfig } from './encode-tools.ts';
import { type Vendor, vendorOf } from './models.ts';
import { CallIds, DocumentNames } from './names.ts';
import { BORROWED, type ConverseRequest, type OutputConfig } from './wire.ts';

export function encodeRequest(given: ModelRequest): EncodedWithFetches<ConverseRequest> {
  const { members, ext: others } = borrow(given, BORROWED);
  const request = { ...given, ext: others };
  const losses = new Losses('converse', request.origin);
  const ext = { ...members, ...losses.requestExt(request.ext) };
  const vendor = vendorOf(request.model);
  const notes: Notes = { losses, needsFetch: [], vendor, documents: new DocumentNames(), ids: new CallIds() };
  const { system, messages } = encodeTurns(request, notes);
  const reasoning = encodeReasoning(request, vendor, losses);
  const outputConfig = present<OutputConfig>({ textFormat: encodeFormat(request, losses), effort: reasoning.effort });
  noteUnsayable(request, losses);
  const body = present<ConverseRequest>({
    ...ext,
    messages,
    system: system.length > 0 ? system : undefined,
    inferenceConfig: merged(ext.inferenceConfig, {
      maxTokens: request.maxOutputTokens,
      temperature: request.temperature,
      topP: request.topP,
      stopSequences: request.stop && [...request.stop],
    }),
    toolConfig: encodeToolConfig(request, notes),
    outputConfig: merged(ext.outputConfig, outputConfig),
    additionalModelRequestFields: merged(ext.additionalModelRequestFields, {
      ...topK(request, vendor, losses),
      ...reasoning.fields,
    }),
    additionalModelResponseFieldPaths: responseFields(request, ext.additionalModelResponseFieldPaths),
    requestMetadata: merged(ext.requestMetadata, { ...request.metadata }),
    serviceTier: encodeTier(request, losses),
  });
  return { ...losses.with(body), needsFetch: notes.needsFetch };
}

function merged<Value extends object>(kept: unknown, made: Value): Value | undefined {
  const value = { ...objectIn(kept), ...present(made) } as Value;
  return Object.keys(value).length > 0 ? value : undefined;
}

/** The service says that a stop sequence was met, and which one only when it is asked; models that do not tell ignore it. */
function responseFields({ stop }: ModelRequest, kept: unknown): string[] | undefined {
  const paths = Array.isArray(kept) ? kept.map(String) : [];
  const wanted = stop && stop.length > 0 && !paths.includes('/stop_sequence') ? ['/stop_sequence'] : [];
  return paths.length + wanted.length > 0 ? [...paths, ...wanted] : undefined;
}

function noteUnsayable(request: ModelRequest, losses: Losses) {
  const { n, logprobs, logitBias, seed, frequencyPenalty, presencePenalty, parallelToolCalls, user } = request;
  if (n !== undefined && n !== 1) losses.need('n', 'converse gives one answer per call');
  if (logprobs) losses.need('logprobs', 'converse does not tell them');
  if (logitBias && Object.keys(logitBias).length > 0) losses.need('logitBias', 'converse has no such setting');
  if (seed !== undefined) losses.hint('seed');
  if (frequencyPenalty) losses.hint('frequencyPenalty');
  if (presencePenalty) losses.hint('presencePenalty');
  if (parallelToolCalls !== undefined)
    losses.hint('parallelToolCalls', 'the model decides by itself how many tools it calls at once');
  if (user !== undefined) losses.hint('user');
}

/** Not one of the common parameters: each vendor has a name for it, or none. */
function topK({ topK: count }: ModelRequest, vendor: Vendor, losses: Losses): object {
  if (count === undefined) return {};
  if (vendor === 'anthropic' || vendor === 'mistral') return { top_k: count };
  if (vendor === 'cohere') return { k: count };
  if (vendor === 'amazon') return { inferenceConfig: { topK: count } };
  losses.hint('topK', 'this model has no such setting');
  return {};
}

function encodeFormat({ responseFormat: format }: ModelRequest, losses: Losses): OutputConfig['textFormat'] {
  if (!format || format.type === 'text') return undefined;
  if (format.type === 'json') {
    losses.need('responseFormat', 'converse gives JSON only by a schema: send json_schema');
    return undefined;
  }
  if (format.strict !== undefined) losses.hint('responseFormat.strict', 'converse always keeps to the schema');
  const { name, description } = format;
  const jsonSchema = present({ schema: JSON.stringify(format.schema), name, description });
  return { type: 'json_schema', structure: { jsonSchema } };
}

const TIERS = ['default', 'flex', 'priority', 'reserved'] as const;

function encodeTier({ serviceTier }: ModelRequest, losses: Losses): ConverseRequest['serviceTier'] {
  if (serviceTier === undefined) return undefined;
  const type = TIERS.find((known) => known === (serviceTier === 'standard' ? 'default' : serviceTier));
  if (type) return { type };
  losses.hint('serviceTier', `converse has no tier ${serviceTier}`);
  return undefined;
}
