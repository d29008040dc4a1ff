import type { Column, Draft, Message } from './draft.ts';

type Body = Record<string, unknown>;

/** What is wrong with a text that should be JSON; null: nothing. */
export function jsonFault(text: string, is: 'list' | 'object'): string | null {
  if (!text.trim()) return null;
  try {
    const value: unknown = JSON.parse(text);
    const isList = Array.isArray(value);
    if (is === 'list') return isList ? null : 'Write a list: [ … ].';
    return !isList && typeof value === 'object' && value !== null ? null : 'Write an object: { … }.';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function messageOf({ role, text, images = [], calls = [], callId }: Message): Body {
  if (role === 'tool') return { role, tool_call_id: callId ?? '', content: text };
  const content =
    images.length === 0
      ? text
      : [
          ...(text ? [{ type: 'text', text }] : []),
          ...images.map((url) => ({ type: 'image_url', image_url: { url } })),
        ];
  if (calls.length === 0) return { role, content };
  const tool_calls = calls.map(({ id, name, args }) => ({ id, type: 'function', function: { name, arguments: args } }));
  return { role, content: text || null, tool_calls };
}

const number = (text: string): number | undefined => (text.trim() === '' ? undefined : Number(text));

/** The body of the call, as /v1/chat/completions takes it. */
export function bodyOf(draft: Draft, model: string, messages: readonly Message[]): Body {
  const tools = draft.tools.trim() ? (JSON.parse(draft.tools) as unknown[]) : [];
  const schema = draft.schema.trim() ? (JSON.parse(draft.schema) as unknown) : null;
  return {
    model,
    messages: [...(draft.system.trim() ? [{ role: 'system', content: draft.system }] : []), ...messages.map(messageOf)],
    ...(number(draft.temperature) !== undefined && { temperature: number(draft.temperature) }),
    ...(number(draft.maxTokens) !== undefined && { max_completion_tokens: number(draft.maxTokens) }),
    ...(number(draft.topP) !== undefined && { top_p: number(draft.topP) }),
    ...(draft.effort && { reasoning_effort: draft.effort }),
    ...(tools.length > 0 && { tools }),
    ...(schema !== null && { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } } }),
    ...(draft.isStream && { stream: true, stream_options: { include_usage: true } }),
  };
}

/** Which config goes along: the name of a stored one, or one written out where guardrails are chosen beside it. */
export function configOf(
  draft: Draft,
  { config }: Column,
  stored: Readonly<Record<string, unknown>> | null,
): string | null {
  const { inputGuardrails, outputGuardrails } = draft;
  if (inputGuardrails.length === 0 && outputGuardrails.length === 0) return config || null;
  return JSON.stringify({
    ...stored,
    ...(inputGuardrails.length > 0 && { input_guardrails: inputGuardrails }),
    ...(outputGuardrails.length > 0 && { output_guardrails: outputGuardrails }),
  });
}
