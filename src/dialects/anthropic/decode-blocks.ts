import { Fields, fault } from '../fields.ts';
import type { CacheMark, Ext, MediaSource, OpaquePart, Part, ToolResultPart } from '../ir.ts';
import { objectIn, present } from '../json.ts';
import { redactedPart, thinkingPart } from './signature.ts';

export function extOf(fields: Fields): Ext | undefined {
  const rest = fields.rest();
  return rest && { anthropic: rest };
}

export function cacheMark(fields: Fields): CacheMark | undefined {
  const control = fields.fields('cache_control');
  if (!control) return undefined;
  control.oneOf('type', ['ephemeral']);
  const ttl = control.optionalString('ttl');
  return ttl === undefined ? {} : { ttl };
}

/** Content is a string or a list of blocks. */
export function contentParts(fields: Fields, name: string, isInResult = false): Part[] {
  const content = fields.take(name);
  const path = fields.pathOf(name);
  if (content === undefined || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content, at: path }];
  if (!Array.isArray(content)) return fault(path, 'a string or a list of blocks', content);
  return content.map((block, index) => {
    const inner = new Fields(block, `${path}[${index}]`);
    // Results in results without end would end the stack.
    if (isInResult && inner.raw().type === 'tool_result')
      fault(inner.path, 'text, an image or a document', 'tool_result');
    return blockPart(inner);
  });
}

function blockPart(fields: Fields): Part {
  const part = knownPart(fields) ?? opaque(fields);
  return present<Part>({ ...part, at: fields.path, ext: part.type === 'opaque' ? undefined : extOf(fields) });
}

const opaque = (fields: Fields): OpaquePart => ({ type: 'opaque', dialect: 'anthropic', raw: fields.raw() });

function knownPart(fields: Fields): Part | undefined {
  switch (fields.string('type')) {
    case 'text':
      return { type: 'text', text: fields.string('text'), cache: cacheMark(fields) };
    case 'image': {
      const source = readSource(fields);
      return source && { type: 'media', kind: 'image', ...source, cache: cacheMark(fields) };
    }
    case 'document': {
      const source = readSource(fields);
      const title = fields.optionalString('title');
      return source && { type: 'media', kind: 'document', ...source, title, cache: cacheMark(fields) };
    }
    case 'tool_use':
      // Answers have it on every call, and so do conversations that repeat them.
      if (objectIn(fields.raw().caller).type === 'direct') fields.take('caller');
      return {
        type: 'tool-call',
        id: fields.string('id'),
        name: fields.string('name'),
        argsText: JSON.stringify(fields.json('input') ?? {}),
        cache: cacheMark(fields),
      };
    case 'tool_result':
      return readResult(fields);
    case 'thinking':
      return thinkingPart(fields.string('thinking'), fields.optionalString('signature'));
    case 'redacted_thinking':
      return redactedPart(fields.string('data'));
    default:
      return undefined;
  }
}

function readResult(fields: Fields): ToolResultPart {
  const id = fields.string('tool_use_id');
  const parts = contentParts(fields, 'content', true).map((part) =>
    part.type === 'text' || part.type === 'media' || part.type === 'opaque'
      ? part
      : fault(part.at ?? fields.path, 'text, an image or a document', part.type),
  );
  const isError = fields.boolean('is_error') ? true : undefined;
  return { type: 'tool-result', id, parts, isError, cache: cacheMark(fields) };
}

/** Undefined for kinds of source that have no meaning elsewhere. */
function readSource(fields: Fields): { readonly source: MediaSource; readonly mime?: string } | undefined {
  const source = fields.inner('source');
  switch (source.string('type')) {
    case 'base64':
      return { source: { type: 'data', data: source.string('data') }, mime: source.string('media_type') };
    case 'url':
      return { source: { type: 'url', url: source.string('url') } };
    case 'file':
      return { source: { type: 'id', id: source.string('file_id') } };
    case 'text':
      return { source: { type: 'text', text: source.string('data') }, mime: 'text/plain' };
    default:
      return undefined;
  }
}
