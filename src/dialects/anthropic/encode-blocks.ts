import { fail } from '../../core/errors.ts';
import type { CacheMark, JsonObject, MediaPart, Part, ToolCallPart, ToolResultPart } from '../ir.ts';
import { isObject, parsed, present } from '../json.ts';
import type { Losses } from '../losses.ts';
import { sealed } from './signature.ts';
import type { CacheControl, ContentBlock, DocumentBlock, ImageBlock, TextBlock, ToolResultBlock } from './wire.ts';

export const cacheControl = (cache: CacheMark | undefined): CacheControl | undefined =>
  cache && ({ type: 'ephemeral', ...cache } as CacheControl);

/** The input of a call is JSON inside JSON here, so the text has to be an object. */
export function toolInput({ argsText, at }: ToolCallPart, path: string): JsonObject {
  const input = argsText === '' ? {} : parsed(argsText);
  return isObject(input)
    ? input
    : fail('invalid_request', at ?? path, 'its arguments must be the text of a JSON object');
}

/** One part as a block; null when it cannot be said here, which is noted. */
export function block(part: Part, path: string, losses: Losses): ContentBlock | null {
  if (part.type === 'opaque') {
    if (part.dialect === 'anthropic') return part.raw as unknown as ContentBlock;
    losses.node(part, path, `only ${part.dialect} has this kind of content`);
    return null;
  }
  const made = knownBlock(part, path, losses);
  return made && ({ ...losses.ext(part, path), ...made } as ContentBlock);
}

function knownBlock(part: Exclude<Part, { type: 'opaque' }>, path: string, losses: Losses): ContentBlock | null {
  switch (part.type) {
    case 'text':
      return present<TextBlock>({ type: 'text', text: part.text, cache_control: cacheControl(part.cache) });
    case 'media':
      return mediaBlock(part, path, losses);
    case 'tool-call':
      if (part.custom) {
        losses.node(part, path, 'calls of custom tools cannot be sent to anthropic');
        return null;
      }
      return present<ContentBlock>({
        type: 'tool_use',
        id: part.id,
        name: part.name,
        input: toolInput(part, path),
        cache_control: cacheControl(part.cache),
      });
    case 'tool-result':
      return resultBlock(part, path, losses);
    case 'reasoning':
      if (part.redacted !== undefined) return { type: 'redacted_thinking', data: sealed(part.redacted, part.signedBy) };
      return { type: 'thinking', thinking: part.text ?? '', signature: sealed(part.signature ?? '', part.signedBy) };
    case 'refusal':
      losses.change(part, path, 'sent as text');
      return { type: 'text', text: part.text };
    default:
      return part satisfies never;
  }
}

function resultBlock(part: ToolResultPart, path: string, losses: Losses): ToolResultBlock {
  const content = part.parts.flatMap((inner, index) => {
    const made = block(inner, `${path}.parts[${index}]`, losses);
    return made ? [made as TextBlock | ImageBlock | DocumentBlock] : [];
  });
  return present<ToolResultBlock>({
    type: 'tool_result',
    tool_use_id: part.id,
    content: content.length > 0 ? content : undefined,
    is_error: part.isError,
    cache_control: cacheControl(part.cache),
  });
}

function mediaBlock(part: MediaPart, path: string, losses: Losses): ContentBlock | null {
  const made = part.kind === 'image' ? imageBlock(part) : part.kind === 'document' ? documentBlock(part) : null;
  if (made === null) {
    losses.node(part, path, `anthropic takes no ${describe(part)}`);
    return null;
  }
  if (part.detail !== undefined) losses.member(part, path, 'detail', 'anthropic has no such setting');
  const tellsMime = part.source.type === 'data' || part.source.type === 'text';
  if (part.mime !== undefined && !tellsMime) losses.member(part, path, 'mime', 'anthropic finds it out by itself');
  if (part.kind === 'image' && part.title !== undefined)
    losses.member(part, path, 'title', 'images have no title at anthropic');
  const isTextFile = made.source.type === 'text' && part.source.type === 'data';
  if (isTextFile) losses.change(part, path, 'sent as the text that it holds');
  return present<ContentBlock>({ ...made, cache_control: cacheControl(part.cache) });
}

const describe = ({ kind, source, mime }: MediaPart) =>
  source.type === 'url' ? `${kind} by address` : `${kind}${mime ? ` of type ${mime}` : ' without a media type'}`;

function imageBlock({ source, mime }: MediaPart): ImageBlock | null {
  if (source.type === 'url') return { type: 'image', source: { type: 'url', url: source.url } };
  if (source.type === 'id') return { type: 'image', source: { type: 'file', file_id: source.id } };
  if (source.type === 'text' || mime === undefined) return null;
  // Which pictures it takes is the provider's to say.
  const media_type = mime as 'image/png';
  return { type: 'image', source: { type: 'base64', media_type, data: source.data } };
}

function documentBlock({ source, mime, title }: MediaPart): DocumentBlock | null {
  const made = documentSource(source, mime);
  return made && present<DocumentBlock>({ type: 'document', source: made, title });
}

function documentSource(source: MediaPart['source'], mime: string | undefined): DocumentBlock['source'] | null {
  if (source.type === 'url') return { type: 'url', url: source.url };
  if (source.type === 'id') return { type: 'file', file_id: source.id };
  if (source.type === 'text') return { type: 'text', media_type: 'text/plain', data: source.text };
  if (mime === 'application/pdf') return { type: 'base64', media_type: mime, data: source.data };
  if (!mime?.startsWith('text/')) return null;
  return { type: 'text', media_type: 'text/plain', data: Buffer.from(source.data, 'base64').toString('utf8') };
}
