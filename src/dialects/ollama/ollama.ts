import type { Dialect } from '../dialect.ts';
import { decodeChat, decodePrompt } from './decode.ts';
import { messages, responses } from './reply.ts';

/** Ollama's `/api/chat`, for its clients. Ollama itself is called in OpenAI's format. */
export const ollama = {
  name: 'ollama',
  inbound: { decodeRequest: decodeChat, ...messages },
} as const satisfies Dialect;

/** Ollama's `/api/generate`. */
export const ollamaGenerate = {
  name: 'ollama-generate',
  inbound: { decodeRequest: decodePrompt, ...responses },
} as const satisfies Dialect;
