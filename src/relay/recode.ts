import type { EndpointType } from '../core/endpoints.ts';
import { fail } from '../core/errors.ts';
import type { Usage } from '../core/usage.ts';
import { type EncodedCall, type EndpointCodec, FormFields } from '../dialects/endpoints/endpoint.ts';
import { decodeError } from '../dialects/endpoints/errors.ts';
import { encodeForm } from '../dialects/endpoints/form.ts';
import { liftVectors, writeEmbeddings } from '../dialects/endpoints/lifted-vectors.ts';
import { FramingError } from '../dialects/framing-error.ts';
import { dialects } from '../dialects/index.ts';
import type { JsonObject } from '../dialects/ir.ts';
import { countIn, isObject, objectIn, parsed } from '../dialects/json.ts';
import { type Incoming, receivedHeaders } from '../http/upstream.ts';
import {
  jsonBytes,
  notesOf,
  parsedRequest,
  refuseBrokenName,
  refuseShape,
  replaced,
  wholeAnswer,
} from './rewritten.ts';

/** A call of an endpoint that the provider has in a format of its own. */
export interface Recoded {
  readonly path: string;
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  readonly notes: Readonly<Record<string, string>>;
  answer(incoming: Incoming, report: (usage: Usage) => void): Promise<Incoming>;
}

export interface RecodeOptions {
  readonly codec: EndpointCodec;
  readonly endpoint: EndpointType;
  readonly provider: string;
  readonly now: () => number;
  /** What the provider cannot be told is left out and named, and not refused. */
  readonly dropsUnsayable: boolean;
}

/** Reads the client's body and writes the provider's. Throws when something that matters cannot be said. */
export function recode(body: Uint8Array, options: RecodeOptions): Recoded {
  const request = parsedRequest(body);
  if (!isObject(request)) return fail('invalid_request', 'body', 'must be a JSON object');
  refuseBrokenName(request.model);
  const call = options.codec.encode(request);
  const refused = options.dropsUnsayable ? undefined : call.dropped?.find(({ matters }) => matters);
  if (refused) fail('not_expressible', refused.path, options.provider, refused.why);
  const { bytes, type } = written(call);
  return {
    path: call.path,
    body: bytes,
    headers: { ...call.headers, 'content-type': type },
    notes: notesOf(call),
    answer: (incoming, report) => answer(incoming, report, request, options),
  };
}

function written({ body }: EncodedCall): { readonly bytes: Uint8Array; readonly type: string } {
  return body instanceof FormFields ? encodeForm(body) : { bytes: jsonBytes(body), type: 'application/json' };
}

async function answer(
  incoming: Incoming,
  report: (usage: Usage) => void,
  request: JsonObject,
  { codec, endpoint, provider, now }: RecodeOptions,
): Promise<Incoming> {
  const { status } = incoming;
  const whole = await wholeAnswer(incoming, provider);
  const headers = receivedHeaders(incoming);
  try {
    const isEmbedding = endpoint === 'embed' && status < 400;
    const { skeleton: bytes, vectors } = isEmbedding ? await liftVectors(whole) : { skeleton: whole, vectors: [] };
    refuseShape(bytes, provider);
    const text = new TextDecoder().decode(bytes);
    const json = parsed(text);
    if (status >= 400) return refusal(incoming, (codec.decodeError ?? decodeError)(status, json ?? text), endpoint);
    const { encoding_format: format, ...asked } = request;
    const given = isEmbedding ? asked : request;
    const body = codec.decode({ json, bytes, headers }, { request: given, provider, now: now() });
    const usage = usageIn(body);
    if (usage) report(usage);
    const written = isEmbedding ? await writeEmbeddings(body, vectors, format) : jsonBytes(body);
    return replaced(incoming, { status, type: 'application/json', bytes: written });
  } catch (error) {
    if (error instanceof FramingError) fail('upstream_failed', provider, error.message);
    throw error;
  }
}

/** The provider's refusal as clients of this endpoint know refusals. */
export function refusal(incoming: Incoming, failure: ReturnType<typeof decodeError>, endpoint: EndpointType): Incoming {
  const client = dialects[endpoint === 'countTokens' ? 'anthropic' : 'openai-chat'].inbound!;
  const { status, body } = client.encodeError(failure);
  return replaced(incoming, { status, type: 'application/json', bytes: jsonBytes(body) });
}

/** Tokens, where the answer counts them. */
function usageIn({ usage }: JsonObject): Usage | null {
  const { prompt_tokens, total_tokens } = objectIn(usage);
  const inputTokens = countIn(prompt_tokens) ?? countIn(total_tokens);
  return inputTokens === undefined ? null : { inputTokens, totalTokens: countIn(total_tokens) ?? inputTokens };
}
