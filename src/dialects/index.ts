import type { EndpointType } from '../core/endpoints.ts';
import { anthropic } from './anthropic/anthropic.ts';
import { cohere } from './cohere/cohere.ts';
import { converse } from './converse/converse.ts';
import type { Dialect } from './dialect.ts';
import { gemini } from './gemini/gemini.ts';
import type { DialectName } from './ir.ts';
import { ollama, ollamaGenerate } from './ollama/ollama.ts';
import { openaiChat } from './openai-chat/openai-chat.ts';
import { responses } from './responses/responses.ts';

/** Every dialect, by its name. */
export const dialects: Readonly<Record<DialectName, Dialect>> = {
  'openai-chat': openaiChat,
  anthropic,
  responses,
  gemini,
  converse,
  cohere,
  ollama,
  'ollama-generate': ollamaGenerate,
};

/** Endpoints whose body is a conversation, and the dialect it is written in. */
export const CONVERSATIONS: Partial<Record<EndpointType, DialectName>> = {
  chatComplete: 'openai-chat',
  messages: 'anthropic',
  createModelResponse: 'responses',
  generateContent: 'gemini',
  ollamaChat: 'ollama',
  ollamaGenerate: 'ollama-generate',
};
