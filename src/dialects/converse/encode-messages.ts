import { fail } from '../../core/errors.ts';
import type {
  CacheMark,
  JsonObject,
  ModelRequest,
  Part,
  ReasoningPart,
  ToolCallPart,
  ToolResultPart,
  Turn,
} from '../ir.ts';
import { isObject, parsed, present } from '../json.ts';
import type { Losses } from '../losses.ts';
import type { NeedsFetch } from '../remote-media.ts';
import { mediaBlock } from './encode-media.ts';
import { takesCachePoints, type Vendor } from './models.ts';
import type { CallIds, DocumentNames } from './names.ts';
import type { CachePoint, ContentBlock, Message, ResultBlock, SystemBlock, ToolResult } from './wire.ts';

export interface Notes {
  readonly losses: Losses;
  readonly needsFetch: NeedsFetch[];
  readonly vendor: Vendor;
  readonly documents: DocumentNames;
  readonly ids: CallIds;
}

export const cachePoint = ({ ttl }: CacheMark): { cachePoint: CachePoint } => ({
  cachePoint: present<CachePoint>({ type: 'default', ttl: ttl as CachePoint['ttl'] }),
});

/** Turns as messages. Speakers have to alternate here, so what one says in several turns is one message. */
export function encodeTurns(
  { turns }: ModelRequest,
  notes: Notes,
): { readonly system: SystemBlock[]; readonly messages: Message[] } {
  const system: SystemBlock[] = [];
  const messages: Message[] = [];
  for (const [index, turn] of turns.entries()) {
    const path = `turns[${index}]`;
    if (turn.name !== undefined) notes.losses.member(turn, path, 'name', 'converse knows no names of participants');
    const ext = notes.losses.ext(turn, path);
    const content = blocks(turn, path, notes);
    if (turn.role === 'system' || turn.role === 'developer') {
      if (messages.length > 0)
        notes.losses.change(turn, path, 'moved to the system prompt, the only place converse has for it');
      system.push(...(content as SystemBlock[]));
    } else if (content.length > 0) addMessage({ turn, path, before: turns[index - 1], ext, content }, messages, notes);
    else notes.losses.change(turn, path, 'left out, because converse takes no message that says nothing');
  }
  return { system, messages };
}

interface Said {
  readonly turn: Turn;
  readonly path: string;
  readonly before: Turn | undefined;
  readonly ext: JsonObject | undefined;
  readonly content: ContentBlock[];
}

function addMessage({ turn, path, before, ext, content }: Said, messages: Message[], { losses }: Notes) {
  const role = turn.role === 'assistant' ? 'assistant' : 'user';
  const last = messages.at(-1);
  if (last?.role !== role) {
    messages.push({ ...ext, role, content });
    return;
  }
  // Results of tools and what the user says after them belong together anyway.
  if (before?.role !== 'tool' || turn.role !== 'user' || ext)
    losses.change(turn, path, 'joined with the message before it, because speakers alternate at converse');
  last.content.push(...content);
}

function blocks(turn: Turn, path: string, notes: Notes): ContentBlock[] {
  return turn.parts.flatMap((part, index) => {
    const at = `${path}.parts[${index}]`;
    const made = block(part, at, turn, notes);
    if (!made) return [];
    return 'cache' in part && part.cache ? [made, ...mark(part, part.cache, at, notes)] : [made];
  });
}

function mark(part: Part, cache: CacheMark, path: string, { losses, vendor }: Notes): ContentBlock[] {
  if (takesCachePoints(vendor)) return [cachePoint(cache)];
  losses.member(part, path, 'cache', 'this model refuses cache points');
  return [];
}

function block(part: Part, path: string, turn: Turn, notes: Notes): ContentBlock | null {
  const { losses } = notes;
  const isSystem = turn.role === 'system' || turn.role === 'developer';
  if (isSystem && part.type !== 'text') {
    losses.node(part, path, 'system messages have only text here');
    return null;
  }
  if (part.type === 'media' && turn.role === 'assistant') {
    losses.node(part, path, 'only users show media at converse');
    return null;
  }
  if (part.type === 'opaque') {
    if (part.dialect === 'converse') return part.raw as unknown as ContentBlock;
    losses.node(part, path, `only ${part.dialect} has this kind of content`);
    return null;
  }
  const made = knownBlock(part, path, notes);
  return made && ({ ...losses.ext(part, path), ...made } as ContentBlock);
}

function knownBlock(part: Exclude<Part, { type: 'opaque' }>, path: string, notes: Notes): ContentBlock | null {
  switch (part.type) {
    case 'text':
      return textBlock(part, path, notes);
    case 'refusal':
      notes.losses.change(part, path, 'sent as text');
      return { text: part.text };
    case 'media':
      return mediaBlock(part, path, notes);
    case 'reasoning':
      return thought(part, path, notes);
    case 'tool-call':
      return call(part, path, notes);
    case 'tool-result':
      return { toolResult: result(part, path, notes) };
    default:
      return part satisfies never;
  }
}

/** The service refuses text that is only white space, too. */
function textBlock(part: Extract<Part, { type: 'text' }>, path: string, { losses }: Notes): { text: string } | null {
  if (part.text.trim() !== '') return { text: part.text };
  losses.change(part, path, 'left out, because converse takes no blank text');
  return null;
}

/** Claude's signatures are the same wherever it runs; the form of what it redacts is not. */
function thought(part: ReasoningPart, path: string, { losses, vendor }: Notes): ContentBlock | null {
  const { text = '', signature, redacted, signedBy } = part;
  if (redacted !== undefined && signedBy === 'converse') return { reasoningContent: { redactedContent: redacted } };
  const isOwn = signedBy === 'converse' || (signedBy === 'anthropic' && vendor === 'anthropic');
  if (signature !== undefined && isOwn) return { reasoningContent: { reasoningText: { text, signature } } };
  losses.node(part, path, 'converse takes back only thoughts that its models signed', false);
  return null;
}

function call(part: ToolCallPart, path: string, notes: Notes): ContentBlock | null {
  if (part.custom) {
    notes.losses.node(part, path, 'calls of custom tools cannot be sent to converse');
    return null;
  }
  const toolUseId = notes.ids.idFor(part.id);
  if (toolUseId !== part.id) notes.losses.change(part, path, `its id is sent as "${toolUseId}"`);
  return { toolUse: { toolUseId, name: part.name, input: inputOf(part, path) } };
}

/** The input of a call is JSON inside JSON here, so the text has to be an object. */
function inputOf({ argsText, at }: ToolCallPart, path: string): JsonObject {
  const input = argsText === '' ? {} : parsed(argsText);
  return isObject(input)
    ? input
    : fail('invalid_request', at ?? path, 'its arguments must be the text of a JSON object');
}

function result(part: ToolResultPart, path: string, notes: Notes): ToolResult {
  const content = part.parts.flatMap((inner, index): ResultBlock[] => {
    const at = `${path}.parts[${index}]`;
    if (inner.type === 'opaque') {
      if (inner.dialect === 'converse') return [inner.raw as unknown as ResultBlock];
      notes.losses.node(inner, at, `only ${inner.dialect} has this kind of content`);
      return [];
    }
    if (inner.type === 'media' && inner.kind === 'audio') {
      notes.losses.node(inner, at, 'results of tools have no audio at converse');
      return [];
    }
    const made =
      inner.type === 'text' ? textBlock(inner, at, notes) : (mediaBlock(inner, at, notes) as ResultBlock | null);
    if (made && inner.cache) notes.losses.member(inner, at, 'cache', 'only a whole result can be marked at converse');
    return made ? [{ ...notes.losses.ext(inner, at), ...made }] : [];
  });
  return present<ToolResult>({
    toolUseId: notes.ids.idFor(part.id),
    content,
    status: part.isError ? 'error' : undefined,
  });
}
