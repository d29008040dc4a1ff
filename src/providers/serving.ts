import type { EndpointType } from '../core/endpoints.ts';
import { fail } from '../core/errors.ts';
import { CONVERSATIONS } from '../dialects/index.ts';
import type { Provider } from './provider.ts';

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
  realtime: 'realtime conversations',
};

interface Place {
  readonly provider: Provider;
  readonly customHost: string | null;
}

/** What a provider has in no format is refused before its body is read. */
export function refuseUnsupported({ provider, customHost }: Place, endpoint: EndpointType, tongue?: 'gemini'): void {
  if (passesAsIs({ provider, customHost }, endpoint, tongue) || hasFormat(provider, endpoint)) return;
  // What a provider with a chat does not count, the gateway counts.
  if (endpoint === 'countTokens' && provider.dialect !== 'none') return;
  const name = tongue ? "conversations in the format of Google's Live API" : NAMES[endpoint];
  fail('unsupported_by_provider', provider.name, name ?? endpoint);
}

/** Whether the target takes this endpoint at the client's path and in the client's format. */
export function passesAsIs({ provider, customHost }: Place, endpoint: EndpointType, tongue?: 'gemini'): boolean {
  const { dialect, serves, endpoints, chat } = provider;
  if (endpoint === 'proxy' || endpoint === 'listModels') return true;
  if (endpoints?.[endpoint]) return false;
  // A provider with addresses and names of models of its own says where it has this, or does not have it.
  if (tongue) return dialect === tongue && (!chat || provider.live !== undefined);
  // Others answer their clients in a dialect of their own, or not at all.
  if (endpoint === 'realtime' && (dialect !== 'openai-chat' || provider.inProcess)) return false;
  if (endpoint === 'chatComplete') return dialect === 'openai-chat' && !chat;
  // A server that copies OpenAI's API at a host of its own has whatever it answers.
  if (customHost !== null && dialect === 'openai-chat' && !hasFormat(provider, endpoint)) return true;
  if (serves) return serves.includes(endpoint);
  return !hasFormat(provider, endpoint) && endpoint !== 'countTokens';
}

/** Whether the provider has this endpoint in a format of its own, or its chat stands for it. */
const hasFormat = ({ endpoints }: Provider, endpoint: EndpointType): boolean =>
  endpoint in CONVERSATIONS || Boolean(endpoints?.[endpoint]);
