import { type ClientForm, type EndpointType, GOOGLE_VERBS, type GoogleVerb } from '../core/endpoints.ts';
import { fail } from '../core/errors.ts';
import type { CallAt, Route } from '../http/route.ts';
import { withoutParameter } from '../http/typed-address.ts';
import type { ModelCall } from '../relay/call.ts';
import { asJsonArray } from './reframed.ts';

const SUMMARIES: Readonly<Record<GoogleVerb, string>> = {
  generateContent: "Chat, in Google's format, on any provider",
  streamGenerateContent: 'The same as a stream: events with alt=sse, else a JSON array',
  embedContent: "One embedding, in Google's format, on any provider that has embeddings",
  batchEmbedContents: 'Several embeddings at once',
  countTokens: "Count the tokens of a call before it is made, in Google's format",
};

const ENDPOINT_OF: Readonly<Record<GoogleVerb, EndpointType>> = {
  generateContent: 'generateContent',
  streamGenerateContent: 'generateContent',
  embedContent: 'embed',
  batchEmbedContents: 'embed',
  countTokens: 'countTokens',
};

/** What clients of Google's API ask of a model. Its name, and whether the answer is a stream, are in the address. */
export const googleRoutes = (relay: (call: ModelCall) => Promise<Response>): Route[] =>
  GOOGLE_VERBS.map((verb) => ({
    method: 'POST',
    path: `/v1beta/models/{model}:${verb}`,
    scopes: ['completions.write'] as const,
    isProviders: true,
    dialect: 'gemini',
    summary: SUMMARIES[verb],
    handle: async (call: CallAt<'model'>) => {
      const { search, value: alt } = withoutParameter(call.search, 'alt');
      if (alt !== '' && alt !== 'sse' && alt !== 'json') fail('invalid_request', 'alt', 'must be sse or json');
      const response = await relay(asModelCall(call, verb, search));
      return verb === 'streamGenerateContent' && alt !== 'sse' ? asJsonArray(response) : response;
    },
  }));

function asModelCall(call: CallAt<'model'>, verb: GoogleVerb, search: string): ModelCall {
  const endpoint = ENDPOINT_OF[verb];
  const model = call.params.model.replace(/^models\//, '');
  const isConversation = endpoint === 'generateContent';
  return {
    request: call.request,
    headers: call.headers,
    stamp: call.stamp,
    endpoint,
    path: call.path.slice('/v1beta'.length),
    search,
    principal: call.principal,
    providerKey: call.providerKey,
    readsModel: true,
    inAddress: { model, onConflict: 'refuse', ...(isConversation && { stream: verb === 'streamGenerateContent' }) },
    ...(!isConversation && { form: verb as ClientForm }),
    log: call.log,
  };
}
