import type { Quirks } from '../dialects/dialect.ts';
import type { ChatCall, ChatEndpoint, Provider, ProviderOptions } from './provider.ts';

/** Where a provider takes chat: what it says itself, or where the inventor of its dialect does. Null: it has no chat. */
export function chatEndpoint(provider: Provider, call: ChatCall): ChatEndpoint | null {
  if (provider.chat) return provider.chat(call);
  if (provider.dialect === 'none') return null;
  const model = encodeURIComponent(call.model);
  const quirks = provider.quirks && { quirks: quirksOf(provider, call.options) };
  switch (provider.dialect) {
    case 'openai-chat':
      return { dialect: 'openai-chat', path: '/chat/completions', ...quirks };
    case 'anthropic':
      return { dialect: 'anthropic', path: '/messages', ...quirks };
    case 'gemini': {
      const name = encodeURIComponent(call.model.replace(/^models\//, ''));
      const path = `/models/${name}:${call.stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`;
      return { dialect: 'gemini', path, ...quirks };
    }
    case 'converse':
      return {
        dialect: 'converse',
        path: `/model/${model}/converse${call.stream ? '-stream' : ''}`,
        framing: 'aws',
        ...quirks,
      };
    case 'cohere':
      return { dialect: 'cohere', path: '/chat', ...quirks };
  }
}

export const quirksOf = ({ quirks }: Provider, options: ProviderOptions): Quirks | undefined =>
  typeof quirks === 'function' ? quirks(options) : quirks;
