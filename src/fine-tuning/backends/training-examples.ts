import type { Method } from '../input.ts';
import { BadExample } from './backend.ts';

interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly text: string;
}

/** OpenAI's example of a conversation, or of two answers to one, as Gemini's tuning wants it. */
export function geminiExample(example: unknown, method: Method['type']): unknown {
  if (method !== 'dpo') return geminiTurns(messagesIn(example, 'messages'));
  const { input, preferred_output, non_preferred_output } = membersOf(example, 'the example');
  return {
    ...geminiTurns(messagesIn(input, 'input.messages')),
    completions: [
      { score: 1, completion: geminiTurn(answerIn(preferred_output, 'preferred_output')) },
      { score: 0, completion: geminiTurn(answerIn(non_preferred_output, 'non_preferred_output')) },
    ],
  };
}

function geminiTurns(messages: readonly Message[]) {
  const system = systemOf(messages);
  return {
    ...(system.length > 0 && { systemInstruction: { role: 'system', parts: system } }),
    contents: messages.filter(({ role }) => role !== 'system').map(geminiTurn),
  };
}

const geminiTurn = ({ role, text }: Message) => ({ role: role === 'assistant' ? 'model' : 'user', parts: [{ text }] });

/** OpenAI's example of a conversation as Bedrock's models are tuned with it. */
export function converseExample(example: unknown): unknown {
  const messages = messagesIn(example, 'messages');
  const system = systemOf(messages);
  return {
    schemaVersion: 'bedrock-conversation-2024',
    ...(system.length > 0 && { system }),
    messages: messages.filter(({ role }) => role !== 'system').map(({ role, text }) => ({ role, content: [{ text }] })),
  };
}

const systemOf = (messages: readonly Message[]) =>
  messages.filter(({ role }) => role === 'system').map(({ text }) => ({ text }));

function messagesIn(example: unknown, where: string): Message[] {
  const { messages } = membersOf(example, 'the example');
  if (!Array.isArray(messages) || messages.length === 0) throw new BadExample(`${where} must be a list of messages`);
  return messages.map((message, index) => messageOf(message, `${where}[${index}]`));
}

function answerIn(value: unknown, where: string): Message {
  const [answer, ...more] = Array.isArray(value) ? value : [];
  if (answer === undefined || more.length > 0) throw new BadExample(`${where} must hold one message`);
  return messageOf(answer, `${where}[0]`);
}

const ROLES = ['system', 'user', 'assistant'] as const;

function messageOf(message: unknown, where: string): Message {
  const { role, content, weight, ...rest } = membersOf(message, where);
  const known = ROLES.find((each) => each === (role === 'developer' ? 'system' : role));
  if (!known) throw new BadExample(`${where}.role must be system, user or assistant for this provider`);
  if (weight === 0) throw new BadExample(`${where}.weight 0 has no counterpart at this provider`);
  const [other] = Object.keys(rest).filter((name) => name !== 'name' && rest[name] !== null);
  if (other !== undefined) throw new BadExample(`${where}.${other.slice(0, 40)} has no counterpart at this provider`);
  return { role: known, text: textOf(content, where) };
}

function textOf(content: unknown, where: string): string {
  if (typeof content === 'string') return content;
  const parts = Array.isArray(content) ? content.map((part) => membersOf(part, `${where}.content`)) : [];
  if (parts.length === 0 || parts.some(({ type, text }) => type !== 'text' || typeof text !== 'string'))
    throw new BadExample(`${where}.content must be text for this provider`);
  return parts.map(({ text }) => text).join('');
}

function membersOf(value: unknown, where: string): Record<string, unknown> {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw new BadExample(`${where} must be an object`);
  return value as Record<string, unknown>;
}
