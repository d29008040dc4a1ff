import { Fields, fault } from '../fields.ts';
import type { JsonObject, Tool, ToolChoice } from '../ir.ts';
import { objectIn, present } from '../json.ts';
import { extOf } from './decode-parts.ts';

export function readTool(fields: Fields): Tool {
  const type = fields.string('type');
  const at = fields.path;
  // Web search, code interpreter and the like run at the provider: no other provider has them.
  if (type !== 'function' && type !== 'custom') return { type: 'opaque', dialect: 'responses', raw: fields.raw(), at };
  const name = fields.string('name');
  const description = fields.optionalString('description');
  if (type === 'custom') {
    const format = readCustomFormat(fields);
    return present<Tool>({ type, name, description, format, at, ext: extOf(fields) });
  }
  const parameters = fields.json('parameters');
  const strict = fields.boolean('strict');
  return present<Tool>({ type, name, description, parameters, strict, at, ext: extOf(fields) });
}

/** A grammar is written flat here, and inside a member of its own in chat. */
function readCustomFormat(fields: Fields): JsonObject | undefined {
  const format = fields.json('format');
  if (format?.type !== 'grammar') return format;
  const { type, ...grammar } = format;
  return { type, grammar };
}

/** `unknown`: a choice that only this dialect has. */
export function readToolChoice(fields: Fields): { readonly toolChoice?: ToolChoice; readonly unknown?: JsonObject } {
  const choice = fields.take('tool_choice');
  if (choice === undefined) return {};
  if (choice === 'none' || choice === 'auto' || choice === 'required') return { toolChoice: { type: choice } };
  if (typeof choice === 'string') return fault('tool_choice', 'none, auto, required or an object', choice);
  const inner = new Fields(choice, 'tool_choice');
  const type = inner.string('type');
  if (type === 'function' || type === 'custom') return { toolChoice: { type: 'tool', name: inner.string('name') } };
  if (type !== 'allowed_tools') return { unknown: inner.raw() };
  const mode = inner.oneOf('mode', ['auto', 'required']) ?? fault(inner.pathOf('mode'), 'auto or required', undefined);
  const tools = inner.each('tools', (tool) => tool.raw()) ?? fault(inner.pathOf('tools'), 'a list of tools', undefined);
  const names = tools.map((tool) => (isNamed(tool) ? String(tool.name) : null));
  const isKnown = names.every((name) => name !== null);
  return isKnown ? { toolChoice: { type: 'allowed', mode, names } } : { unknown: inner.raw() };
}

const isNamed = (tool: JsonObject): boolean =>
  (tool.type === 'function' || tool.type === 'custom') && typeof objectIn(tool).name === 'string';
