import type { MediaPart, ModelRequest, Part, TextPart, ToolCallPart, ToolResultPart, Turn } from '../ir.ts';
import { present } from '../json.ts';
import type { Losses } from '../losses.ts';
import { dataUrl } from '../media.ts';
import type { AssistantMessage, ImageContent, Message, TextContent, ThinkingContent, ToolCall } from './wire.ts';

interface Place {
  readonly path: string;
  readonly losses: Losses;
}

export function encodeTurns({ turns }: ModelRequest, losses: Losses): Message[] {
  return turns.flatMap((turn, index): Message[] => {
    const place: Place = { path: `turns[${index}]`, losses };
    if (turn.name !== undefined) losses.member(turn, place.path, 'name', 'cohere knows no names of participants');
    const ext = losses.ext(turn, place.path);
    switch (turn.role) {
      case 'tool':
        return toolMessages(turn, place);
      case 'assistant':
        return [{ ...ext, ...assistantMessage(turn, place) }];
      case 'user':
        return [{ ...ext, role: 'user', content: short(contentOf(turn.parts, place)) }];
      case 'system':
      case 'developer':
        return [{ ...ext, role: 'system', content: short(textsOf(turn.parts, place)) }];
      default:
        return turn.role satisfies never;
    }
  });
}

/** Content of one plain text is written as a string. */
function short<Item extends TextContent | ImageContent | ThinkingContent>(items: Item[]): string | Item[] {
  const [only] = items;
  if (only === undefined) return '';
  return items.length === 1 && only.type === 'text' && Object.keys(only).length === 2 ? only.text : items;
}

function textContent(part: TextPart, { path, losses }: Place): TextContent {
  if (part.cache) losses.member(part, path, 'cache', 'cohere decides by itself what it caches');
  return { ...losses.ext(part, path), type: 'text', text: part.text };
}

const inside = ({ path, losses }: Place, index: number): Place => ({ path: `${path}.parts[${index}]`, losses });

const contentOf = (parts: readonly Part[], place: Place): (TextContent | ImageContent)[] =>
  parts.flatMap((part, index) => content(part, inside(place, index)) ?? []);

function textsOf(parts: readonly Part[], place: Place): TextContent[] {
  return parts.flatMap((part, index) => {
    const at = inside(place, index);
    if (part.type === 'text') return textContent(part, at);
    place.losses.node(part, at.path, 'only text can be said here');
    return [];
  });
}

/** One part of a user's message; null when it cannot be said here, which is noted. */
function content(part: Part, place: Place): TextContent | ImageContent | null {
  const { path, losses } = place;
  if (part.type === 'text') return textContent(part, place);
  if (part.type === 'opaque' && part.dialect === 'cohere') return part.raw as unknown as TextContent;
  const made = part.type === 'media' ? mediaContent(part, place) : null;
  if (!made) {
    losses.node(part, path, `cohere takes no ${part.type === 'media' ? part.kind : part.type} of this kind here`);
    return null;
  }
  const { cache } = part as MediaPart;
  if (cache) losses.member(part, path, 'cache', 'cohere decides by itself what it caches');
  return { ...losses.ext(part, path), ...made };
}

function mediaContent(part: MediaPart, { path, losses }: Place): TextContent | ImageContent | null {
  const { kind, source, mime, detail, title } = part;
  const lost = (name: 'mime' | 'title' | 'detail') => losses.member(part, path, name, 'cohere has no place for it');
  if (kind === 'image') {
    const url = source.type === 'url' ? source.url : source.type === 'data' && mime ? dataUrl(mime, source.data) : null;
    if (url === null) return null;
    if (title !== undefined) lost('title');
    if (mime !== undefined && source.type === 'url') lost('mime');
    return { type: 'image_url', image_url: present({ url, detail: detail as 'auto' | undefined }) };
  }
  const text = kind === 'document' ? plainText(part) : null;
  if (text === null) return null;
  if (title !== undefined) lost('title');
  losses.change(part, path, 'sent as the text that it holds');
  return { type: 'text', text };
}

function plainText({ source, mime }: MediaPart): string | null {
  if (source.type === 'text') return source.text;
  if (source.type !== 'data' || !mime?.startsWith('text/')) return null;
  return Buffer.from(source.data, 'base64').toString('utf8');
}

/** Each result is a message. Only text fits into it, so pictures follow in a message of the user. */
function toolMessages(turn: Turn, place: Place): Message[] {
  const media: (TextContent | ImageContent)[] = [];
  const results = (turn.parts as readonly ToolResultPart[]).map((part, index): Message => {
    const at = inside(place, index);
    const texts: TextContent[] = [];
    for (const [position, inner] of part.parts.entries()) {
      const innerPlace = inside(at, position);
      const made = content(inner, innerPlace);
      if (made?.type === 'text' && inner.type !== 'media') texts.push(made);
      else if (made) {
        place.losses.change(inner, innerPlace.path, 'sent in a user message after the result, which takes only text');
        media.push(made);
      }
    }
    if (part.isError) place.losses.member(part, at.path, 'isError', 'cohere does not tell errors from results');
    if (part.cache) place.losses.member(part, at.path, 'cache', 'cohere decides by itself what it caches');
    return { ...place.losses.ext(part, at.path), role: 'tool', tool_call_id: part.id, content: short(texts) };
  });
  return media.length > 0 ? [...results, { role: 'user', content: media }] : results;
}

/** Thoughts before calls are the plan; the order is plan, text, calls. */
function assistantMessage(turn: Turn, place: Place): AssistantMessage {
  const said: (TextContent | ThinkingContent)[] = [];
  const plan: string[] = [];
  const calls: ToolCall[] = [];
  const isPlanned = turn.parts.some((part) => part.type === 'tool-call');
  for (const [index, part] of turn.parts.entries()) {
    const at = inside(place, index);
    if (part.type === 'tool-call') {
      calls.push(...call(part, at));
      continue;
    }
    const made = saidBefore(part, at);
    if (!made) continue;
    const isPlan = made.type === 'thinking' && isPlanned;
    if (calls.length > 0 || (isPlan && said.length + plan.length > 0))
      place.losses.change(part, at.path, 'said in the order that cohere has: one plan, text, calls');
    if (isPlan) plan.push(made.thinking);
    else said.push(made);
  }
  return present<AssistantMessage>({
    role: 'assistant',
    content: said.length > 0 ? short(said) : undefined,
    tool_plan: plan.length > 0 ? plan.join('\n') : undefined,
    tool_calls: calls.length > 0 ? calls : undefined,
  });
}

/** What an assistant says beside its calls; null when it cannot be said here, which is noted. */
function saidBefore(part: Exclude<Part, ToolCallPart>, place: Place): TextContent | ThinkingContent | null {
  const { path, losses } = place;
  if (part.type === 'text') return textContent(part, place);
  if (part.type === 'opaque' && part.dialect === 'cohere') return part.raw as unknown as TextContent;
  if (part.type === 'refusal') {
    losses.change(part, path, 'sent as text');
    return { type: 'text', text: part.text };
  }
  if (part.type === 'reasoning' && part.text && part.signedBy === undefined)
    return { ...losses.ext(part, path), type: 'thinking', thinking: part.text };
  const isThought = part.type === 'reasoning';
  const why = isThought ? 'only the provider that signed it can read this' : 'cohere has no place for it';
  losses.node(part, path, why, !isThought);
  return null;
}

function call(part: ToolCallPart, { path, losses }: Place): ToolCall[] {
  if (part.custom) {
    losses.node(part, path, 'calls of custom tools cannot be sent to cohere');
    return [];
  }
  if (part.cache) losses.member(part, path, 'cache', 'cohere decides by itself what it caches');
  const { id, name, argsText } = part;
  return [{ ...losses.ext(part, path), id, type: 'function', function: { name, arguments: argsText || '{}' } }];
}
