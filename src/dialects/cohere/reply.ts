import { FramingError } from '../framing-error.ts';
import type { Choice, JsonObject, ModelReply, Part, TokenLogprob, TokenUsage } from '../ir.ts';
import { countIn, isObject, objectIn, objectsIn, present, restOf, someTextIn, textIn } from '../json.ts';
import { stopFailure } from './errors.ts';
import { finishReason } from './wire.ts';

const REPLY_MEMBERS = new Set(['id', 'finish_reason', 'message', 'usage', 'logprobs', 'error']);

export function decodeReply(body: unknown): ModelReply {
  if (!isObject(body) || !isObject(body.message)) throw new FramingError('the answer is no Cohere message');
  const raw = textIn(body.finish_reason);
  const failure = stopFailure(raw, someTextIn(body.error));
  if (failure) throw new FramingError(failure.message);
  const { message } = body;
  const parts = readMessage(message);
  const first = parts.findIndex((part) => part.type === 'text');
  const logprobs = objectsIn(body.logprobs).map(readLogprob);
  const choice = present<Choice>({
    parts: parts.map((part, index) =>
      index === first && logprobs.length > 0 ? ({ ...part, logprobs } as Part) : part,
    ),
    finish: raw === undefined ? { reason: 'other' } : { reason: finishReason(raw), raw },
    ext: citationExt(objectsIn(message.citations)),
  });
  const rest = restOf(body, REPLY_MEMBERS);
  return present<ModelReply>({
    id: someTextIn(body.id),
    choices: [choice],
    usage: isObject(body.usage) ? readUsage(body.usage) : undefined,
    ext: rest && { cohere: rest },
  });
}

export const citationExt = (citations: readonly JsonObject[]): Choice['ext'] =>
  citations.length > 0 ? { cohere: { citations } } : undefined;

/** The plan for the calls is a thought; it comes first, as in streams. */
function readMessage({ tool_plan, content, tool_calls }: JsonObject): Part[] {
  const plan = someTextIn(tool_plan);
  return [
    ...(plan === undefined ? [] : [{ type: 'reasoning', text: plan } as const]),
    ...objectsIn(content).flatMap((item) => readContent(item) ?? []),
    ...objectsIn(tool_calls).map(readCall),
  ];
}

function readContent(item: JsonObject): Part | null {
  if (typeof item.thinking === 'string') return item.thinking ? { type: 'reasoning', text: item.thinking } : null;
  if (typeof item.text === 'string') return item.text ? { type: 'text', text: item.text } : null;
  return { type: 'opaque', dialect: 'cohere', raw: item };
}

export function readCall(call: JsonObject): Extract<Part, { type: 'tool-call' }> {
  const called = objectIn(call.function);
  return {
    type: 'tool-call',
    id: textIn(call.id) ?? '',
    name: textIn(called.name) ?? '',
    argsText: someTextIn(called.arguments) ?? '{}',
  };
}

/** Told for pieces of text, which may be several tokens: their chances are multiplied. */
export function readLogprob({ text, logprobs }: JsonObject): TokenLogprob {
  const token = textIn(text) ?? '';
  const each = Array.isArray(logprobs) ? logprobs.filter((value): value is number => typeof value === 'number') : [];
  return {
    token,
    logprob: each.reduce((sum, value) => sum + value, 0),
    bytes: [...Buffer.from(token)],
    top_logprobs: [],
  };
}

const COUNTED = new Set(['tokens', 'cached_tokens']);

/** What was used, not what is billed; that is kept beside it. */
export function readUsage(usage: JsonObject): TokenUsage {
  const tokens = objectIn(usage.tokens);
  const billed = objectIn(usage.billed_units);
  const rest = restOf(usage, COUNTED);
  return present<TokenUsage>({
    inputTokens: countIn(tokens.input_tokens) ?? countIn(billed.input_tokens),
    outputTokens: countIn(tokens.output_tokens) ?? countIn(billed.output_tokens),
    cachedInputTokens: countIn(usage.cached_tokens),
    ext: rest && { cohere: rest },
  });
}
