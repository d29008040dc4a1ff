import type { Quirks } from '../dialect.ts';
import type { JsonObject, Part, RefusalPart, TextPart, ToolCallPart, ToolResultPart, Turn } from '../ir.ts';
import { objectIn } from '../json.ts';
import type { Losses } from '../losses.ts';
import { isClientItem } from './decode-items.ts';
import { contentPart } from './encode-parts.ts';
import { outputContent } from './output.ts';
import { ownThoughtItem } from './thoughts.ts';
import type { InputContent, InputItem } from './wire.ts';

interface Place {
  readonly path: string;
  readonly quirks: Quirks;
  readonly losses: Losses;
  /** Ids of calls of custom tools, whose results are items of another type. */
  readonly customCalls: ReadonlySet<string>;
}

export function encodeTurns(turns: readonly Turn[], quirks: Quirks, losses: Losses) {
  const customCalls = new Set(
    turns.flatMap(({ parts }) => parts.flatMap((part) => (isCustomCall(part) ? part.id : []))),
  );
  const instructions = instructionsIn(turns[0]);
  const input = turns.flatMap((turn, index): InputItem[] => {
    if (index === 0 && instructions !== undefined) return [];
    const place: Place = { path: `turns[${index}]`, quirks, losses, customCalls };
    if (turn.name !== undefined) losses.member(turn, place.path, 'name', 'responses knows no names of participants');
    if (turn.role !== 'assistant' && turn.role !== 'tool') return saidItems(turn, turn.role, place);
    losses.ext(turn, place.path);
    if (turns[index - 1]?.role === turn.role) losses.change(turn, place.path, 'one turn with the turn before it');
    const items = turn.role === 'tool' ? resultItems(turn, place) : assistantItems(turn, place);
    if (items.length === 0) losses.change(turn, place.path, 'left out, because it says nothing');
    return items;
  });
  return { instructions, input };
}

const isCustomCall = (part: Part): part is ToolCallPart => part.type === 'tool-call' && part.custom === true;

/** What the system says before everything else, when it is nothing but a text. */
function instructionsIn(turn: Turn | undefined): string | undefined {
  if (turn?.role !== 'system' || turn.parts.length !== 1 || turn.ext || turn.name !== undefined) return undefined;
  const [part] = turn.parts;
  return part?.type === 'text' && !part.cache && !part.ext && part.text ? part.text : undefined;
}

function saidItems(turn: Turn, role: 'user' | 'system' | 'developer', place: Place): InputItem[] {
  const { path, quirks, losses } = place;
  const ext = losses.ext(turn, path);
  const items: InputItem[] = [];
  let content: InputContent[] = [];
  const close = () => {
    if (content.length > 0) items.push({ ...ext, role, content: short(content) });
    content = [];
  };
  for (const [index, part] of turn.parts.entries()) {
    const raw = clientItem(part);
    if (raw) {
      close();
      items.push(raw as unknown as InputItem);
      continue;
    }
    const made = contentPart(part, `${path}.parts[${index}]`, quirks, losses);
    if (made) content.push(made);
  }
  close();
  if (items.length > 1) losses.change(turn, path, 'said in several items');
  return items.length > 0 ? items : [{ ...ext, role, content: '' }];
}

const clientItem = (part: Part): JsonObject | null =>
  part.type === 'opaque' && part.dialect === 'responses' && isClientItem(part.raw.type) ? part.raw : null;

/** Content of one plain text is written as a string. */
function short(content: InputContent[]): string | InputContent[] {
  const [only] = content;
  const isPlain = content.length === 1 && only?.type === 'input_text' && Object.keys(only).length === 2;
  return isPlain ? only.text : content;
}

function resultItems(turn: Turn, { path, quirks, losses, customCalls }: Place): InputItem[] {
  return (turn.parts as readonly ToolResultPart[]).map((part, index) => {
    const at = `${path}.parts[${index}]`;
    const ext = losses.ext(part, at);
    if (part.isError) losses.member(part, at, 'isError', 'responses does not tell errors from results');
    if (part.cache) losses.member(part, at, 'cache', 'results of tools cannot be marked here');
    const content = part.parts.flatMap(
      (inner, inside) => contentPart(inner, `${at}.parts[${inside}]`, quirks, losses) ?? [],
    );
    const type = customCalls.has(part.id) ? 'custom_tool_call_output' : 'function_call_output';
    return { ...ext, type, call_id: part.id, output: content.length > 0 ? short(content) : '' };
  });
}

function assistantItems(turn: Turn, { path, losses }: Place): InputItem[] {
  return turn.parts.flatMap((part, index): InputItem[] => {
    const at = `${path}.parts[${index}]`;
    if ('cache' in part && part.cache)
      losses.member(part, at, 'cache', 'what the assistant said cannot be marked here');
    switch (part.type) {
      case 'text':
      case 'refusal':
        return messageItem(part, at, losses);
      case 'tool-call':
        return [{ ...losses.ext(part, at), ...callItem(part) }];
      case 'reasoning':
        if (part.signedBy === 'responses') {
          losses.ext(part, at);
          return [ownThoughtItem(part)];
        }
        losses.node(part, at, 'responses takes back only thoughts that it encrypted itself', false);
        return [];
      case 'opaque':
        if (part.dialect === 'responses') return [part.raw as unknown as InputItem];
    }
    losses.node(part, at, 'responses has no place for it');
    return [];
  });
}

const callItem = ({ id, name, argsText, custom }: ToolCallPart) =>
  custom
    ? ({ type: 'custom_tool_call', call_id: id, name, input: argsText } as const)
    : ({ type: 'function_call', call_id: id, name, arguments: argsText } as const);

/** A plain text is a message of a string, which needs no id; anything else is written as the answer it was. */
function messageItem(part: TextPart | RefusalPart, path: string, losses: Losses): InputItem[] {
  const { message, ...members } = losses.ext(part, path) ?? {};
  const isPlain = part.type === 'text' && !part.logprobs && Object.keys(members).length === 0;
  if (isPlain && part.text === '') {
    losses.change(part, path, 'left out, because it says nothing');
    return [];
  }
  if (isPlain) return [{ ...objectIn(message), role: 'assistant', content: part.text }];
  const id = `msg_${path.match(/\d+/g)?.join('_')}`;
  const content = [{ ...outputContent(part), ...members }];
  return [{ ...objectIn(message), type: 'message', id, role: 'assistant', status: 'completed', content }];
}
