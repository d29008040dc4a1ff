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
  | {
      /** Of a tool that ran beside the model: what it was asked, and what came of it. */
      readonly kind: 'ran';
      readonly name: string;
      readonly status: string;
      readonly given: string;
      readonly parts: readonly Part[];
    }
  | { readonly kind: 'log'; readonly text: string }
  | { readonly kind: 'sources'; readonly sources: readonly Source[] }
  | { readonly kind: 'other'; readonly json: string };

/** What an answer leans on: a page, or a file. */
export interface Source {
  readonly title: string;
  readonly url: string;
}

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
    case 'output_text':
      return [...partsOf(textIn(block.text)), ...sourcesOf(block.annotations)];
    case 'text':
    case 'input_text':
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
      return ranPart(block) ?? plainPart(block);
  }
}

/** Several annotations may lean on the same. */
function sourcesOf(annotations: unknown): Part[] {
  const sources = listIn(annotations)
    .filter(isRecord)
    .map(
      (each): Source => ({
        title: textIn(each.title) || textIn(each.filename) || textIn(each.file_id),
        url: textIn(each.url),
      }),
    )
    .filter(({ title, url }) => title || url);
  const once = [...new Map(sources.map((source) => [`${source.title} ${source.url}`, source])).values()];
  return once.length > 0 ? [{ kind: 'sources', sources: once }] : [];
}

/** What an item of the Responses API says of a tool that ran beside the model; null: it is no such item. */
function ranPart(item: Json): Part[] | null {
  const ran = (name: string, given: string, parts: readonly Part[] = []): Part[] => [
    { kind: 'ran', name, given, status: textIn(item.status), parts: [...parts, ...failureOf(item.error)] },
  ];
  switch (item.type) {
    case 'file_search_call': {
      const found = listIn(item.results).filter(isRecord);
      const sources = found.map(({ filename, score }) => ({
        title: `${textIn(filename)}${typeof score === 'number' ? ` (${score.toFixed(2)})` : ''}`,
        url: '',
      }));
      return ran('file search', listIn(item.queries).map(textIn).join('\n'), [{ kind: 'sources', sources }]);
    }
    case 'web_search_call': {
      const action = isRecord(item.action) ? item.action : {};
      return ran('web search', textIn(action.query) || textIn(action.url), sourcesOf(action.sources));
    }
    case 'code_interpreter_call':
      return ran('code interpreter', textIn(item.code), listIn(item.outputs).filter(isRecord).map(outputOf));
    case 'image_generation_call': {
      const format = textIn(item.output_format) || 'png';
      const made = textIn(item.result);
      const source = dataUrl(`image/${format}`, made);
      return ran('image generation', textIn(item.revised_prompt), made ? [{ kind: 'image', source }] : []);
    }
    case 'mcp_call':
      return ran(
        `${textIn(item.server_label)} ${textIn(item.name)}`,
        textIn(item.arguments),
        item.output ? [{ kind: 'log', text: textIn(item.output) }] : [],
      );
    case 'mcp_list_tools':
      return ran(
        `tools of ${textIn(item.server_label)}`,
        listIn(item.tools)
          .filter(isRecord)
          .map(({ name }) => textIn(name))
          .join('\n'),
      );
    case 'mcp_approval_request':
      return ran(`${textIn(item.server_label)} ${textIn(item.name)} waits to be allowed`, textIn(item.arguments));
    default:
      return null;
  }
}

const outputOf = (output: Json): Part =>
  output.type === 'image' ? { kind: 'image', source: textIn(output.url) } : { kind: 'log', text: textIn(output.logs) };

const failureOf = (error: unknown): Part[] =>
  error === null || error === undefined ? [] : [{ kind: 'log', text: asText(error) }];

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
