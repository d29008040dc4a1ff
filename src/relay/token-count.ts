import type { Tokens } from '../core/tokens.ts';
import { dialects } from '../dialects/index.ts';
import type { ModelRequest, Part, Tool } from '../dialects/ir.ts';
import { isObject } from '../dialects/json.ts';
import type { Incoming } from '../http/upstream.ts';
import type { OpenCall, Prepared } from './call.ts';
import { answerOf, jsonBytes, parsedRequest } from './rewritten.ts';

/** What a picture or a page is counted as, about what providers charge for a large one. */
const MEDIA_TOKENS = 1_500;
/** What stands around each turn and each tool. */
const TURN_TOKENS = 4;
const TOOL_TOKENS = 8;

/**
 * A count of tokens for a provider that does not count: by the model's vocabulary where that is public, else by the length
 * of the texts. Nothing is sent, and the answer says that it is an estimate.
 */
export function countedHere(call: OpenCall, counter: Tokens): Prepared {
  const { path, search, body, grownBy } = call;
  const request = requestIn(body?.head ?? new Uint8Array());
  return {
    path,
    search,
    body,
    grownBy,
    translation: {
      headers: {},
      notes: { 'x-gateway-estimated': 'input_tokens' },
      answer: async (incoming) => incoming,
    },
    here: () => counted(request, counter),
  };
}

/** A body in Anthropic's format, which limits nothing: `max_tokens` is no member of it. */
function requestIn(bytes: Uint8Array): ModelRequest {
  const body = parsedRequest(bytes);
  return dialects.anthropic.inbound!.decodeRequest(isObject(body) ? { max_tokens: 1, ...body } : body);
}

async function counted({ model, turns, tools = [] }: ModelRequest, counter: Tokens): Promise<Incoming> {
  const parts = turns.flatMap((turn) => turn.parts);
  const texts = [...parts.flatMap(textsOf), ...tools.map(toolText)];
  const counts = await counter.count(model, texts);
  const input_tokens =
    counts.reduce((sum, count) => sum + count, 0) +
    turns.length * TURN_TOKENS +
    tools.length * TOOL_TOKENS +
    parts.reduce((sum, part) => sum + mediaIn(part), 0) * MEDIA_TOKENS;
  return answerOf(200, jsonBytes({ input_tokens }));
}

function textsOf(part: Part): string[] {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return [part.text];
    case 'reasoning':
      return part.text ? [part.text] : [];
    case 'tool-call':
      return [part.name, part.argsText];
    case 'tool-result':
      return part.parts.flatMap(textsOf);
    case 'media':
      return part.source.type === 'text' ? [part.source.text] : [];
    case 'opaque':
      return [JSON.stringify(part.raw)];
  }
}

function mediaIn(part: Part): number {
  if (part.type === 'tool-result') return part.parts.reduce((sum, inner) => sum + mediaIn(inner), 0);
  return part.type === 'media' && part.source.type !== 'text' ? 1 : 0;
}

const toolText = (tool: Tool): string =>
  tool.type === 'opaque'
    ? JSON.stringify(tool.raw)
    : [tool.name, tool.description, tool.type === 'function' && JSON.stringify(tool.parameters)]
        .filter(Boolean)
        .join('\n');
