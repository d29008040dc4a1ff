import { anthropic } from '../anthropic/anthropic.ts';
import { FramingError } from '../framing-error.ts';
import type { JsonObject } from '../ir.ts';
import { countIn, objectIn } from '../json.ts';
import { responses } from '../responses/responses.ts';
import type { EndpointCodec } from './endpoint.ts';

const COUNTED = ['model', 'input', 'instructions', 'tools', 'tool_choice', 'text', 'reasoning'];

/** Tokens of a message, counted by OpenAI: as the input of a response that is not made. */
export const openaiCountTokens: EndpointCodec = {
  encode: (request) => {
    const asked = anthropic.inbound.decodeRequest({ max_tokens: 1, ...request });
    const { body, dropped, changed } = responses.outbound.encodeRequest(asked);
    return {
      path: '/responses/input_tokens',
      body: Object.fromEntries(Object.entries(body).filter(([name]) => COUNTED.includes(name))),
      dropped,
      changed,
    };
  },
  decode: ({ json }): JsonObject => {
    const input_tokens = countIn(objectIn(json).input_tokens);
    if (input_tokens === undefined) throw new FramingError('the answer does not say how many tokens there are');
    return { input_tokens };
  },
};
