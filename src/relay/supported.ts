import type { EndpointType } from '../core/endpoints.ts';
import { fail } from '../core/errors.ts';
import { CONVERSATIONS } from '../dialects/index.ts';
import type { Provider } from '../providers/provider.ts';
import type { Attempt, OpenCall } from './call.ts';
import type { Target } from './target.ts';

const NAMES: Partial<Record<EndpointType, string>> = {
  complete: 'completions endpoint',
  embed: 'embeddings',
  rerank: 'rerank endpoint',
  moderate: 'moderations',
  imageGenerate: 'image generation',
  imageEdit: 'image edits',
  imageVariation: 'image variations',
  createSpeech: 'speech endpoint',
  createTranscription: 'transcriptions',
  createTranslation: 'audio translations',
  countTokens: 'token counting',
};

type Place = Pick<Target, 'provider' | 'customHost'>;

/** What a provider has in no format is refused before its body is read. */
export function refuseUnsupported({ provider, customHost }: Place, endpoint: EndpointType): void {
  if (passesAsIs({ provider, customHost }, endpoint) || hasFormat(provider, endpoint)) return;
  // What a provider with a chat does not count, the gateway counts.
  if (endpoint === 'countTokens' && provider.dialect !== 'none') return;
  fail('unsupported_by_provider', provider.name, NAMES[endpoint] ?? endpoint);
}

/** Whether the target takes this endpoint at the client's path and in the client's format. */
export function passesAsIs({ provider, customHost }: Place, endpoint: EndpointType): boolean {
  const { dialect, serves, endpoints, chat } = provider;
  if (endpoint === 'proxy' || endpoint === 'listModels') return true;
  if (endpoints?.[endpoint]) return false;
  if (endpoint === 'chatComplete') return dialect === 'openai-chat' && !chat;
  // A server that copies OpenAI's API at a host of its own has whatever it answers.
  if (customHost !== null && dialect === 'openai-chat' && !hasFormat(provider, endpoint)) return true;
  if (serves) return serves.includes(endpoint);
  return !hasFormat(provider, endpoint) && endpoint !== 'countTokens';
}

/** Whether the provider has this endpoint in a format of its own, or its chat stands for it. */
const hasFormat = ({ endpoints }: Provider, endpoint: EndpointType): boolean =>
  endpoint in CONVERSATIONS || Boolean(endpoints?.[endpoint]);

/** Whether a body in Google's format stands for another endpoint. */
export const isInForm = ({ form }: Pick<OpenCall, 'form'>): boolean => form !== undefined && form !== 'listModels';

/** Whether the body is read for this target. */
export const isRead = ({ endpoint, form }: OpenCall, { target, settings }: Attempt): boolean =>
  settings.params !== null || isInForm({ form }) || !passesAsIs(target, endpoint);
