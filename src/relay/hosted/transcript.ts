import type { JsonObject } from '../../dialects/ir.ts';
import { isObject, objectIn, objectsIn, textIn } from '../../dialects/json.ts';

/** Longer pieces of what no model reads as text, a picture for one, say nothing in a transcript. */
const LONGEST_RAW = 2_000;

/** Items as a text that any model can read: no tools, no pictures, no roles that providers have rules about. */
export const transcriptOf = (items: readonly unknown[]): string =>
  items.flatMap((item) => (isObject(item) ? pieceOf(item) : [])).join('\n\n');

function pieceOf(item: JsonObject): string[] {
  switch (item.type ?? 'message') {
    case 'message':
      return [`[${textIn(item.role) ?? 'user'}]\n${textOf(item.content)}`];
    case 'function_call':
      return [`[assistant calls ${textIn(item.name) ?? 'a tool'}]\n${textIn(item.arguments) ?? ''}`];
    case 'custom_tool_call':
      return [`[assistant calls ${textIn(item.name) ?? 'a tool'}]\n${textIn(item.input) ?? ''}`];
    case 'function_call_output':
    case 'custom_tool_call_output':
      return [`[result of the call]\n${textOf(item.output)}`];
    case 'reasoning': {
      const thoughts = objectsIn(item.summary).map(({ text }) => textIn(text) ?? '');
      return thoughts.length > 0 ? [`[assistant thinks]\n${thoughts.join('\n')}`] : [];
    }
    default:
      return [`[${item.type}]\n${JSON.stringify(item, (_, value) => shortened(value))}`];
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return objectsIn(content).map(partText).join('\n');
}

function partText(part: JsonObject): string {
  const text = textIn(part.text) ?? textIn(part.refusal);
  if (text !== undefined) return text;
  const name = textIn(part.filename) ?? textIn(objectIn(part.file).filename) ?? textIn(part.file_id);
  return `[${String(part.type ?? 'part').replace(/^input_/, '')}${name === undefined ? '' : `: ${name}`}]`;
}

const shortened = (value: unknown): unknown =>
  typeof value === 'string' && value.length > LONGEST_RAW ? `${value.slice(0, LONGEST_RAW)}…` : value;
