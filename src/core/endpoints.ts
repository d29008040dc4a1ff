/** What a call asks a provider to do; the names are those that policies, guardrails and logs use. */
export type EndpointType =
  | 'chatComplete'
  | 'complete'
  | 'embed'
  | 'rerank'
  | 'moderate'
  | 'imageGenerate'
  | 'imageEdit'
  | 'imageVariation'
  | 'createSpeech'
  | 'createTranscription'
  | 'createTranslation'
  | 'messages'
  | 'countTokens'
  | 'createModelResponse'
  | 'generateContent'
  | 'ollamaChat'
  | 'ollamaGenerate'
  | 'realtime'
  | 'listModels'
  | 'mcp'
  | 'proxy';

/** The first-class endpoints, by their path after `/v1`. */
export const ENDPOINTS: ReadonlyMap<string, EndpointType> = new Map([
  ['/chat/completions', 'chatComplete'],
  ['/completions', 'complete'],
  ['/embeddings', 'embed'],
  ['/rerank', 'rerank'],
  ['/moderations', 'moderate'],
  ['/images/generations', 'imageGenerate'],
  ['/images/edits', 'imageEdit'],
  ['/images/variations', 'imageVariation'],
  ['/audio/speech', 'createSpeech'],
  ['/audio/transcriptions', 'createTranscription'],
  ['/audio/translations', 'createTranslation'],
  ['/messages', 'messages'],
  ['/messages/count_tokens', 'countTokens'],
  ['/responses', 'createModelResponse'],
]);

/** Formats in which clients speak, and in which they are told of errors. */
export type ClientDialect = 'openai-chat' | 'anthropic' | 'responses' | 'gemini' | 'ollama' | 'scim';

/** What clients of Google's ask of a model, as their addresses say it. */
export const GOOGLE_VERBS = [
  'generateContent',
  'streamGenerateContent',
  'embedContent',
  'batchEmbedContents',
  'countTokens',
] as const;
export type GoogleVerb = (typeof GOOGLE_VERBS)[number];

/** What is asked in a format of the client's and is no conversation: by Google's clients, and Ollama's. */
export type ClientForm =
  | Extract<GoogleVerb, 'embedContent' | 'batchEmbedContents' | 'countTokens'>
  | 'ollamaEmbed'
  | 'ollamaEmbeddings'
  | 'listModels';
