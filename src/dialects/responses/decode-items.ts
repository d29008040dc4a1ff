import { fail } from '../../core/errors.ts';
import { Fields, fault } from '../fields.ts';
import type { Part, Role, ToolCallPart, ToolResultPart, Turn } from '../ir.ts';
import { present } from '../json.ts';
import { contentParts, extOf } from './decode-parts.ts';
import { readThought } from './thoughts.ts';

const ROLES = ['user', 'assistant', 'system', 'developer'] as const;

/**
 * Items as turns. What the assistant thought, said and called in a row is one turn, and so are results of tools. Ids and
 * states of items are dropped: they name what one provider has stored.
 */
export function decodeItems(items: readonly unknown[], path: string): Turn[] {
  const turns: (Turn & { parts: Part[] })[] = [];
  for (const [index, item] of items.entries()) {
    const turn = itemTurn(new Fields(item, `${path}[${index}]`));
    const last = turns.at(-1);
    if (last && last.role === turn.role && (turn.role === 'assistant' || turn.role === 'tool'))
      last.parts.push(...turn.parts);
    else turns.push({ ...turn, parts: [...turn.parts] });
  }
  return turns;
}

/** Items of clients that no other dialect has; everything else of a kind we do not know was made by a model. */
export const isClientItem = (type: unknown): boolean =>
  typeof type === 'string' &&
  (type.endsWith('_output') || ['mcp_approval_response', 'compaction_trigger', 'additional_tools'].includes(type));

function itemTurn(fields: Fields): Turn {
  const type = fields.optionalString('type') ?? (fields.has('role') ? 'message' : 'item_reference');
  const at = fields.path;
  switch (type) {
    case 'message':
      return messageTurn(fields);
    case 'function_call':
    case 'custom_tool_call':
      return { role: 'assistant', parts: [callPart(fields, type)], at };
    case 'function_call_output':
    case 'custom_tool_call_output':
      return { role: 'tool', parts: [resultPart(fields)], at };
    case 'reasoning':
      return { role: 'assistant', parts: [thoughtPart(fields)], at };
    case 'item_reference':
      return fail('invalid_request', at, `refers to item ${fields.string('id')}, which was not found`);
    default: {
      const role: Role = isClientItem(type) ? 'user' : 'assistant';
      return { role, parts: [{ type: 'opaque', dialect: 'responses', raw: fields.raw(), at }], at };
    }
  }
}

/** Takes the members that say nothing beyond the provider that gave them. */
function skipState(fields: Fields) {
  fields.optionalString('id');
  fields.optionalString('status');
  const { caller } = fields.raw() as { caller?: { type?: unknown } | null };
  if (caller?.type === 'direct') fields.take('caller');
}

function messageTurn(fields: Fields): Turn {
  skipState(fields);
  const role = fields.oneOf('role', ROLES) ?? fault(fields.pathOf('role'), `one of ${ROLES.join(', ')}`, undefined);
  const parts = contentParts(fields, 'content');
  const ext = extOf(fields);
  if (role !== 'assistant' || !ext || !parts[0]) return present<Turn>({ role, parts, at: fields.path, ext });
  // The turn may become a part of a longer one, so what belongs to the message stays with its first part.
  const [first, ...others] = parts;
  const message = { ...first.ext, responses: { ...first.ext?.responses, message: ext.responses } };
  return { role, parts: [{ ...first, ext: message }, ...others], at: fields.path };
}

function callPart(fields: Fields, type: 'function_call' | 'custom_tool_call'): ToolCallPart {
  skipState(fields);
  const isCustom = type === 'custom_tool_call';
  return present<ToolCallPart>({
    type: 'tool-call',
    id: fields.string('call_id'),
    name: fields.string('name'),
    argsText: isCustom ? fields.string('input') : fields.string('arguments') || '{}',
    custom: isCustom ? true : undefined,
    at: fields.path,
    ext: extOf(fields),
  });
}

function resultPart(fields: Fields): ToolResultPart {
  skipState(fields);
  const parts = contentParts(fields, 'output').map((part) =>
    part.type === 'text' || part.type === 'media' || part.type === 'opaque'
      ? part
      : fault(part.at ?? fields.path, 'text, an image or a file', part.type),
  );
  const id = fields.string('call_id');
  return present<ToolResultPart>({ type: 'tool-result', id, parts, at: fields.path, ext: extOf(fields) });
}

function thoughtPart(fields: Fields): Part {
  for (const name of ['summary', 'content']) fields.each(name, (text) => text.string('text'));
  fields.optionalString('encrypted_content');
  return { ...readThought(fields.raw()), at: fields.path };
}
