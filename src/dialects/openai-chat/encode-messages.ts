import type { Quirks } from '../dialect.ts';
import type { JsonObject, Part, ToolCallPart, ToolResultPart, Turn } from '../ir.ts';
import { present } from '../json.ts';
import type { Losses } from '../losses.ts';
import { reasoningBlock } from './blocks.ts';
import { cacheMarks, contentPart, textPart } from './encode-parts.ts';
import type { AssistantMessage, ContentPart, Message, RefusalPart, TextPart, ToolCall } from './wire.ts';

interface Place {
  readonly path: string;
  readonly quirks: Quirks;
  readonly losses: Losses;
}

export function encodeTurns(turns: readonly Turn[], quirks: Quirks, losses: Losses): Message[] {
  return turns.flatMap((turn, index) => {
    const place: Place = { path: `turns[${index}]`, quirks, losses };
    const ext = losses.ext(turn, place.path);
    const name = turn.name === undefined ? {} : { name: turn.name };
    switch (turn.role) {
      case 'tool':
        return toolMessages(turn, place);
      case 'assistant':
        return [{ ...ext, ...assistantMessage(turn, place), ...name }];
      case 'user':
        return [{ ...ext, role: turn.role, content: short(contentOf(turn.parts, place)), ...name }];
      default:
        return [{ ...ext, role: turn.role, content: short(textsOf(turn.parts, place)), ...name }];
    }
  });
}

/** Content of one plain text is written as a string, which every compatible provider reads. */
function short<Item extends object>(parts: Item[]): string | Item[] {
  if (parts.length === 0) return '';
  const [only] = parts as (Item & { type?: string; text?: string })[];
  const isPlain = parts.length === 1 && only?.type === 'text' && Object.keys(only).length === 2;
  return isPlain ? only!.text! : parts;
}

const contentOf = (parts: readonly Part[], { path, quirks, losses }: Place): ContentPart[] =>
  parts.flatMap((part, index) => contentPart(part, `${path}.parts[${index}]`, quirks, losses) ?? []);

function textsOf(parts: readonly Part[], { path, quirks, losses }: Place): TextPart[] {
  return parts.flatMap((part, index) => {
    const at = `${path}.parts[${index}]`;
    if (part.type === 'text') return textPart(part, at, quirks, losses);
    losses.node(part, at, 'only text can be said here');
    return [];
  });
}

/** Each result is a message. Only text fits into it, so pictures and files follow in a message of the user. */
function toolMessages(turn: Turn, { path, quirks, losses }: Place): Message[] {
  const results: Message[] = [];
  const media: ContentPart[] = [];
  for (const [index, part] of (turn.parts as readonly ToolResultPart[]).entries()) {
    const at = `${path}.parts[${index}]`;
    const texts: TextPart[] = [];
    for (const [inside, inner] of part.parts.entries()) {
      const innerPath = `${at}.parts[${inside}]`;
      const made = contentPart(inner, innerPath, quirks, losses);
      if (made && inner.type !== 'text')
        losses.change(inner, innerPath, 'sent in a user message after the result, which takes only text');
      if (made?.type === 'text' && inner.type === 'text') texts.push(made);
      else if (made) media.push(made);
    }
    const ext = losses.ext(part, at);
    if (part.isError) losses.member(part, at, 'isError', 'openai-chat does not tell errors from results');
    results.push({
      ...ext,
      role: 'tool',
      tool_call_id: part.id,
      content: short(texts),
      ...resultMarks(part, { path: at, quirks, losses }),
    });
  }
  return media.length > 0 ? [...results, { role: 'user', content: media }] : results;
}

/** Only Anthropic's kind of mark can stand on a whole message. */
function resultMarks(part: ToolResultPart, { path, quirks, losses }: Place): object {
  if (quirks.cacheMarks === 'cache_control') return cacheMarks(part, path, quirks, losses);
  if (part.cache) losses.member(part, path, 'cache', 'results of tools cannot be marked here');
  return {};
}

function assistantMessage(turn: Turn, { path, quirks, losses }: Place): AssistantMessage {
  const content: (TextPart | RefusalPart)[] = [];
  const calls: ToolCall[] = [];
  const thoughts: string[] = [];
  const blocks: JsonObject[] = [];
  const wantsBlocks =
    quirks.reasoningHistory === 'content_blocks' && turn.parts.some((part) => part.type === 'reasoning');
  for (const [index, part] of turn.parts.entries()) {
    const at = `${path}.parts[${index}]`;
    if (part.type !== 'tool-call' && calls.length > 0)
      losses.change(part, at, 'said before the calls of tools, after which nothing can be said here');
    if (part.type === 'text' || part.type === 'refusal') {
      const said = part.type === 'text' ? textPart(part, at, quirks, losses) : refusalPart(part.text);
      content.push(said);
      blocks.push({ ...said });
    } else if (part.type === 'tool-call') calls.push(toolCall(part, at, quirks, losses));
    else if (part.type === 'reasoning' && wantsBlocks)
      blocks.push({ ...losses.ext(part, at), ...reasoningBlock(part) });
    else if (part.type === 'reasoning' && quirks.reasoningHistory && part.text) {
      thoughts.push(part.text);
      if (part.signature) losses.member(part, at, 'signature', 'openai-chat has no place for it');
    } else losses.node(part, at, 'openai-chat has no place for it', part.type !== 'reasoning');
  }
  return present<AssistantMessage>({
    role: 'assistant',
    content: content.length > 0 ? short(content) : null,
    reasoning_content: thoughts.length > 0 ? thoughts.join('') : undefined,
    content_blocks: wantsBlocks ? blocks : undefined,
    tool_calls: calls.length > 0 ? calls : undefined,
  });
}

const refusalPart = (refusal: string): RefusalPart => ({ type: 'refusal', refusal });

function toolCall(part: ToolCallPart, path: string, quirks: Quirks, losses: Losses): ToolCall {
  const { id, name, argsText } = part;
  const ext = { ...losses.ext(part, path), ...cacheMarks(part, path, quirks, losses) };
  if (part.custom) return { ...ext, id, type: 'custom', custom: { name, input: argsText } };
  return { ...ext, id, type: 'function', function: { name, arguments: argsText } };
}
