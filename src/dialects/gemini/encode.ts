import { borrow } from '../borrowed.ts';
import type { ModelRequest } from '../ir.ts';
import { objectIn, present } from '../json.ts';
import { Losses } from '../losses.ts';
import type { EncodedWithFetches, NeedsFetch } from '../remote-media.ts';
import { encodeTurns } from './encode-contents.ts';
import { encodeThinking } from './encode-thinking.ts';
import { encodeToolConfig, encodeTools, schemaFor } from './encode-tools.ts';
import { BORROWED, type GenerateContentRequest, type GenerationConfig } from './wire.ts';

export function encodeRequest(given: ModelRequest): EncodedWithFetches<GenerateContentRequest> {
  const borrowed = borrow(given, BORROWED);
  const { modalities, request } = takeModalities({ ...given, ext: borrowed.ext });
  const losses = new Losses('gemini', request.origin);
  const ext = losses.requestExt(request.ext);
  const needsFetch: NeedsFetch[] = [];
  const { system, contents } = encodeTurns(request, { losses, needsFetch });
  noteUnsayable(request, losses);
  const body = present<GenerateContentRequest>({
    ...borrowed.members,
    ...ext,
    contents,
    systemInstruction: system.length > 0 ? { parts: system } : undefined,
    tools: encodeTools(request, losses),
    toolConfig: merged(ext?.toolConfig, present({ functionCallingConfig: encodeToolConfig(request) })),
    generationConfig: merged(ext?.generationConfig, {
      ...encodeSettings(request, losses),
      ...(modalities && { responseModalities: modalities }),
    }),
    serviceTier: encodeTier(request, losses),
  });
  return { ...losses.with(body), needsFetch };
}

function merged<Value extends object>(kept: unknown, made: Value): Value | undefined {
  const value = { ...objectIn(kept), ...made } as Value;
  return Object.keys(value).length > 0 ? value : undefined;
}

/** Chat clients ask for pictures in the answer by `modalities`; sound would need a voice, which is not translated. */
function takeModalities(request: ModelRequest): {
  readonly modalities?: GenerationConfig['responseModalities'];
  readonly request: ModelRequest;
} {
  const { modalities, ...rest } = request.ext?.['openai-chat'] ?? {};
  const isSayable = Array.isArray(modalities) && modalities.every((name) => name === 'text' || name === 'image');
  if (!isSayable || modalities.length === 0) return { request };
  return {
    modalities: modalities.map((name) => (name === 'text' ? 'TEXT' : 'IMAGE')),
    request: { ...request, ext: { ...request.ext, 'openai-chat': rest } },
  };
}

function noteUnsayable(request: ModelRequest, losses: Losses) {
  const { logitBias, parallelToolCalls, user, metadata } = request;
  if (logitBias && Object.keys(logitBias).length > 0) losses.need('logitBias', 'gemini has no such setting');
  if (parallelToolCalls !== undefined)
    losses.hint('parallelToolCalls', 'gemini decides by itself how many functions it calls at once');
  if (user !== undefined) losses.hint('user');
  if (metadata) losses.hint('metadata', 'gemini stores nothing with a call');
}

function encodeSettings(request: ModelRequest, losses: Losses): GenerationConfig {
  const { logprobs } = request;
  return present<GenerationConfig>({
    maxOutputTokens: request.maxOutputTokens,
    temperature: request.temperature,
    topP: request.topP,
    topK: request.topK,
    stopSequences: request.stop && [...request.stop],
    candidateCount: request.n,
    seed: request.seed,
    responseLogprobs: logprobs ? true : undefined,
    logprobs: logprobs?.top || undefined,
    frequencyPenalty: request.frequencyPenalty,
    presencePenalty: request.presencePenalty,
    ...encodeFormat(request, losses),
    thinkingConfig: encodeThinking(request, losses),
  });
}

function encodeFormat({ responseFormat: format }: ModelRequest, losses: Losses): GenerationConfig {
  if (!format) return {};
  if (format.type === 'text') return { responseMimeType: 'text/plain' };
  const responseMimeType = 'application/json';
  if (format.type === 'json') return { responseMimeType };
  if (format.name !== undefined) losses.hint('responseFormat.name', 'schemas have no name at gemini');
  if (format.description !== undefined)
    losses.hint('responseFormat.description', 'schemas are not described at gemini');
  if (format.strict !== undefined) losses.hint('responseFormat.strict', 'gemini always keeps to the schema');
  const { openApi, json, hasReferences } = schemaFor(format.schema, 'response_format');
  if (hasReferences) losses.changeSetting('responseFormat', 'the references in its schema are written out');
  return openApi ? { responseMimeType, responseSchema: openApi } : { responseMimeType, responseJsonSchema: json };
}

const TIERS = ['standard', 'flex', 'priority'] as const;

function encodeTier({ serviceTier }: ModelRequest, losses: Losses): GenerateContentRequest['serviceTier'] {
  const tier = TIERS.find((known) => known === serviceTier);
  if (serviceTier !== undefined && !tier) losses.hint('serviceTier', `gemini has no tier ${serviceTier}`);
  return tier;
}
