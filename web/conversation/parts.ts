/** One piece of what was said, in whichever format a call spoke. All of it came from outside. */
export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'reasoning'; readonly text: string }
  | { readonly kind: 'refusal'; readonly text: string }
  | { readonly kind: 'image'; readonly source: string }
  | { readonly kind: 'audio'; readonly source: string; readonly transcript: string | null }
  | { readonly kind: 'file'; readonly name: string }
  | { readonly kind: 'call'; readonly id: string | null; readonly name: string; readonly args: string }
  | { readonly kind: 'result'; readonly id: string | null; readonly parts: readonly Part[] }
  | { readonly kind: 'other'; readonly json: string };

export interface Turn {
  readonly role: string;
  readonly parts: readonly Part[];
}

/** What is known of any value that came from outside. */
export type Json = Readonly<Record<string, unknown>>;

export const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');
export const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value ?? null, null, 2));

export function partsOf(content: unknown): Part[] {
  if (content === null || content === undefined || content === '') return [];
  if (typeof content === 'string') return [{ kind: 'text', text: content }];
  if (Array.isArray(content)) return content.flatMap(partsOf);
  return isRecord(content) ? partOf(content) : [{ kind: 'text', text: String(content) }];
}

const dataUrl = (type: unknown, data: unknown): string => `data:${textIn(type)};base64,${textIn(data)}`;

/** A block of any of the formats: what it is called there says what it is. */
function partOf(block: Json): Part[] {
  switch (block.type) {
    case 'text':
    case 'input_text':
    case 'output_text':
    case 'summary_text':
    case 'reasoning_text':
      return partsOf(textIn(block.text));
    case 'refusal':
      return [{ kind: 'refusal', text: textIn(block.refusal) }];
    case 'image_url':
      return [
        { kind: 'image', source: isRecord(block.image_url) ? textIn(block.image_url.url) : textIn(block.image_url) },
      ];
    case 'input_image':
      return [{ kind: 'image', source: textIn(block.image_url) || textIn(block.file_id) }];
    case 'image':
      return [{ kind: 'image', source: sourceOf(block.source) }];
    case 'input_audio': {
      const audio = isRecord(block.input_audio) ? block.input_audio : {};
      return [{ kind: 'audio', source: dataUrl(`audio/${textIn(audio.format)}`, audio.data), transcript: null }];
    }
    case 'thinking':
      return [{ kind: 'reasoning', text: textIn(block.thinking) }];
    case 'redacted_thinking':
      return [{ kind: 'reasoning', text: 'The provider keeps this part to itself.' }];
    case 'reasoning':
      return reasoningOf(block);
    case 'tool_use':
      return [{ kind: 'call', id: textIn(block.id), name: textIn(block.name), args: asText(block.input) }];
    case 'function_call':
      return [{ kind: 'call', id: textIn(block.call_id), name: textIn(block.name), args: textIn(block.arguments) }];
    case 'tool_result':
      return [{ kind: 'result', id: textIn(block.tool_use_id), parts: partsOf(block.content) }];
    case 'function_call_output':
      return [{ kind: 'result', id: textIn(block.call_id), parts: partsOf(block.output) }];
    case 'file':
    case 'input_file':
    case 'document': {
      const file = isRecord(block.file) ? block.file : block;
      return [{ kind: 'file', name: textIn(file.filename) || textIn(file.title) || textIn(file.file_id) || 'a file' }];
    }
    default:
      return plainPart(block);
  }
}

function reasoningOf(block: Json): Part[] {
  const said = [...partsOf(block.summary), ...partsOf(block.content)].flatMap((part) =>
    part.kind === 'text' ? [part.text] : [],
  );
  return said.length > 0 ? [{ kind: 'reasoning', text: said.join('\n\n') }] : [];
}

/** Google's parts say by their members what they are. */
function plainPart(block: Json): Part[] {
  if (typeof block.text === 'string')
    return [{ kind: block.thought === true ? 'reasoning' : 'text', text: block.text }];
  const data = isRecord(block.inlineData) ? block.inlineData : isRecord(block.inline_data) ? block.inline_data : null;
  if (data) {
    const type = textIn(data.mimeType) || textIn(data.mime_type);
    const source = dataUrl(type, data.data);
    if (type.startsWith('audio/')) return [{ kind: 'audio', source, transcript: null }];
    return type.startsWith('image/') ? [{ kind: 'image', source }] : [{ kind: 'file', name: type || 'a file' }];
  }
  if (isRecord(block.functionCall))
    return [{ kind: 'call', id: null, name: textIn(block.functionCall.name), args: asText(block.functionCall.args) }];
  if (isRecord(block.functionResponse))
    return [{ kind: 'result', id: null, parts: partsOf(asText(block.functionResponse.response)) }];
  return [{ kind: 'other', json: JSON.stringify(block, null, 2) }];
}

function sourceOf(source: unknown): string {
  if (!isRecord(source)) return '';
  return source.type === 'base64' ? dataUrl(source.media_type, source.data) : textIn(source.url);
}

/** A message of chat: what it says, what it calls, what it thought before. */
export function messageTurn(message: Json, role = textIn(message.role) || 'assistant'): Turn {
  const thought = textIn(message.reasoning_content) || textIn(message.reasoning) || textIn(message.thinking);
  const audio = isRecord(message.audio) ? message.audio : null;
  const content: Part[] = [
    ...(thought ? [{ kind: 'reasoning', text: thought } as const] : []),
    ...partsOf(message.content ?? message.parts),
    ...(message.refusal ? [{ kind: 'refusal', text: textIn(message.refusal) } as const] : []),
    ...(audio
      ? [
          {
            kind: 'audio',
            source: dataUrl('audio/wav', audio.data),
            transcript: textIn(audio.transcript) || null,
          } as const,
        ]
      : []),
    ...listIn(message.images).map((image): Part => ({ kind: 'image', source: dataUrl('image/png', image) })),
    ...listIn(message.tool_calls).filter(isRecord).map(callOf),
  ];
  if (role === 'tool' || role === 'function')
    return { role: 'tool', parts: [{ kind: 'result', id: textIn(message.tool_call_id) || null, parts: content }] };
  return { role: role === 'model' ? 'assistant' : role === 'developer' ? 'system' : role, parts: content };
}

function callOf(call: Json): Part {
  const made = isRecord(call.function) ? call.function : call;
  return { kind: 'call', id: textIn(call.id) || null, name: textIn(made.name), args: asText(made.arguments) };
}
