import { ENDPOINTS, type EndpointType } from '../core/endpoints.ts';
import type { Call, Route } from '../http/route.ts';
import type { ModelCall } from '../relay/call.ts';

const VERSION = '/v1';

const SUMMARIES: Readonly<
  Record<
    Exclude<
      EndpointType,
      'proxy' | 'realtime' | 'listModels' | 'mcp' | 'generateContent' | 'ollamaChat' | 'ollamaGenerate'
    >,
    string
  >
> = {
  chatComplete: "Chat, in OpenAI's format, on any provider",
  complete: "Text completion, in OpenAI's format",
  embed: "Embeddings, in OpenAI's format",
  rerank: 'Order documents by how well they answer a query',
  moderate: 'Classify content that may be harmful',
  imageGenerate: 'Make images from a text',
  imageEdit: 'Change images by a text',
  imageVariation: 'Make variations of an image',
  createSpeech: 'Speak a text',
  createTranscription: 'Write down speech',
  createTranslation: 'Write down speech in English',
  messages: "Messages, in Anthropic's format, on any provider",
  countTokens: 'Count the tokens of a message before it is sent',
  createModelResponse: "Responses, in OpenAI's format, on any provider",
};

/** The endpoints that mean the same on every provider. */
export const inferenceRoutes = (relay: (call: ModelCall) => Promise<Response>): Route[] =>
  [...ENDPOINTS].map(([path, endpoint]) => ({
    method: 'POST',
    path: VERSION + path,
    scopes: ['completions.write'] as const,
    isProviders: true,
    summary: SUMMARIES[endpoint as keyof typeof SUMMARIES],
    handle: (call: Call) =>
      relay({
        request: call.request,
        headers: call.headers,
        stamp: call.stamp,
        endpoint,
        path,
        search: call.search,
        principal: call.principal,
        providerKey: call.providerKey,
        readsModel: true,
        // A deployment of Azure's: what the body says beside it counts for nothing there.
        ...(call.params.model !== undefined && { inAddress: { model: call.params.model, onConflict: 'address' } }),
        log: call.log,
      }),
  }));
