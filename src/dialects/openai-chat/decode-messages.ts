import { fail } from '../../core/errors.ts';
import { Fields, fault } from '../fields.ts';
import type { CacheMark, Part, ToolCallPart, ToolResultPart, Turn } from '../ir.ts';
import { isObject, present, textIn } from '../json.ts';
import { providerPart, reasoningPart } from './blocks.ts';
import { cacheMark, contentPart, contentParts, extOf } from './decode-parts.ts';

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const;

/** Messages as turns; results of tools in a row are one turn. */
export function decodeMessages(fields: Fields): Turn[] {
  const messages = fields.each('messages', decodeMessage) ?? fault('messages', 'a list of messages', undefined);
  const turns: Turn[] = [];
  for (const turn of messages) {
    const last = turns.at(-1);
    if (last?.role === 'tool' && turn.role === 'tool')
      turns[turns.length - 1] = { ...last, parts: [...last.parts, ...turn.parts] };
    else turns.push(turn);
  }
  return turns;
}

function decodeMessage(fields: Fields): Turn {
  const role = fields.oneOf('role', ROLES) ?? fault(fields.pathOf('role'), `one of ${ROLES.join(', ')}`, undefined);
  if (role === 'function')
    return fail(
      'invalid_request',
      fields.pathOf('role'),
      'function messages are translated for no provider: send tool messages',
    );
  const cache = cacheMark(fields);
  if (role === 'tool') return toolTurn(fields, cache);
  const name = fields.optionalString('name');
  if (role !== 'assistant' && !fields.has('content'))
    fault(fields.pathOf('content'), 'a string or a list of parts', undefined);
  const parts = role === 'assistant' ? assistantParts(fields) : contentParts(fields);
  return present<Turn>({ role, parts: marked(parts, cache), name, at: fields.path, ext: extOf(fields) });
}

/** A mark on the message stands for one on its last part. */
function marked(parts: readonly Part[], cache: CacheMark | undefined): readonly Part[] {
  const last = parts.at(-1);
  return cache && last ? [...parts.slice(0, -1), { ...last, cache } as Part] : parts;
}

function toolTurn(fields: Fields, cache: CacheMark | undefined): Turn {
  const parts = contentParts(fields).map((part) =>
    part.type === 'text' || part.type === 'media' || part.type === 'opaque'
      ? part
      : fault(part.at ?? fields.path, 'text', part.type),
  );
  const id = fields.string('tool_call_id');
  const result = present<ToolResultPart>({
    type: 'tool-result',
    id,
    parts,
    cache,
    at: fields.path,
    ext: extOf(fields),
  });
  return { role: 'tool', parts: [result], at: fields.path };
}

function assistantParts(fields: Fields): Part[] {
  if (fields.has('function_call'))
    fail('invalid_request', fields.pathOf('function_call'), 'is translated for no provider: send tool_calls');
  const blocks = fields.list('content_blocks');
  const content = contentParts(fields);
  const thoughts = textIn(fields.take('reasoning_content')) ?? textIn(fields.take('reasoning'));
  const refusal = fields.optionalString('refusal');
  const calls = fields.each('tool_calls', toolCall) ?? [];
  // The blocks repeat the content, with what it cannot hold in between.
  const said = blocks ? blockParts(blocks, fields.pathOf('content_blocks')) : content;
  if (!blocks && thoughts) said.unshift({ type: 'reasoning', text: thoughts, at: fields.pathOf('reasoning_content') });
  if (refusal) said.push({ type: 'refusal', text: refusal, at: fields.pathOf('refusal') });
  return [...said, ...calls];
}

function blockParts(blocks: readonly unknown[], path: string): Part[] {
  return blocks.map((block, index) => {
    const at = `${path}[${index}]`;
    if (!isObject(block)) return fault(at, 'an object', block);
    const known = reasoningPart(block) ?? providerPart(block);
    return known ? { ...known, at } : contentPart(new Fields(block, at));
  });
}

function toolCall(fields: Fields): ToolCallPart {
  const id = fields.string('id');
  const type = fields.oneOf('type', ['function', 'custom']) ?? 'function';
  const inner = fields.inner(type);
  return present<ToolCallPart>({
    type: 'tool-call',
    id,
    name: inner.string('name'),
    argsText: inner.string(type === 'custom' ? 'input' : 'arguments') || (type === 'custom' ? '' : '{}'),
    custom: type === 'custom' ? true : undefined,
    cache: cacheMark(fields),
    at: fields.path,
    ext: extOf(fields),
  });
}
