import { GatewayError } from '../../core/errors.ts';
import { FramingError } from '../../dialects/framing-error.ts';
import { dialects } from '../../dialects/index.ts';
import type { DialectName, JsonObject } from '../../dialects/ir.ts';
import type { Endpoint } from '../batch.ts';
import { answered, members, type NativeResult, type ResultContext, text, unanswered } from './api.ts';

/** What clients of an endpoint speak. */
const dialectOf = (endpoint: Endpoint): DialectName => (endpoint === '/v1/messages' ? 'anthropic' : 'openai-chat');

export const speaks = (endpoint: Endpoint, dialect: DialectName): boolean => dialectOf(endpoint) === dialect;

/** A request in the provider's words. What they do not have, and what would have to be fetched first, is refused. */
export function translated(body: Uint8Array, endpoint: Endpoint, dialect: DialectName, provider: string): JsonObject {
  const request = dialects[dialectOf(endpoint)].inbound!.decodeRequest(JSON.parse(Buffer.from(body).toString()));
  const encoded = dialects[dialect].outbound!.encodeRequest(request);
  const refused = encoded.dropped.find(({ matters }) => matters);
  if (refused) throw new GatewayError('not_expressible', [refused.path, provider, refused.why]);
  return encoded.body as JsonObject;
}

/** The provider's answer in the words of the batch's endpoint. */
export function retold(
  name: string,
  reply: unknown,
  dialect: DialectName,
  { endpoint, model, now }: ResultContext,
): NativeResult {
  if (speaks(endpoint, dialect)) return answered(name, 200, reply);
  try {
    const decoded = dialects[dialect].outbound!.decodeReply(reply);
    const context = { request: { model: text(members(reply).model) ?? model ?? '' }, id: '', now, isStrict: true };
    return answered(name, 200, dialects[dialectOf(endpoint)].inbound!.encodeReply(decoded, context).body);
  } catch (error) {
    if (!(error instanceof FramingError) && !(error instanceof GatewayError)) throw error;
    return unanswered(name, 'invalid_response', `The provider's answer is not understood: ${error.message}`);
  }
}

/** The provider's refusal of one request, likewise. Its code is not always a status of HTTP. */
export function retoldError(
  name: string,
  { code, error }: { readonly code: unknown; readonly error: unknown },
  dialect: DialectName,
  endpoint: Endpoint,
): NativeResult {
  const status = typeof code === 'number' && code >= 400 && code < 600 ? code : 500;
  if (speaks(endpoint, dialect)) return answered(name, status, error);
  const failure = dialects[dialect].outbound!.decodeError(status, error);
  return answered(name, status, dialects[dialectOf(endpoint)].inbound!.encodeError(failure).body);
}
