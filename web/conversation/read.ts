import { isRecord, type Json, listIn, messageTurn, type Part, partsOf, type Turn, textIn } from './parts.ts';
import { eventsOf, joined } from './stream.ts';

/** A tool that was offered. */
export interface OfferedTool {
  readonly name: string;
  readonly about: string;
  readonly schema: string;
}

/** What a call said, whichever of the formats it spoke. */
export interface Exchange {
  readonly turns: readonly Turn[];
  readonly answer: readonly Turn[];
  readonly tools: readonly OfferedTool[];
  /** What else the request asks for: temperature, limits, and so on. */
  readonly settings: readonly (readonly [string, string])[];
  readonly finish: string | null;
  readonly error: string | null;
}

const TOLD = new Set([
  'messages',
  'input',
  'contents',
  'prompt',
  'tools',
  'system',
  'instructions',
  'systemInstruction',
]);

export function parsed(body: string | null | undefined): Json | null {
  try {
    const value: unknown = JSON.parse(body ?? '');
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

/** Null: it cannot be read as a conversation. */
export function readExchange(request: string | null, response: string | null): Exchange | null {
  const asked = parsed(request);
  const said = parsed(response) ?? joined(eventsOf(response ?? ''));
  if (!asked && !said) return null;
  const turns = asked ? turnsOf(asked) : [];
  const { answer, finish } = said ? answerOf(said) : { answer: [], finish: null };
  const error = said ? errorOf(said) : null;
  if (turns.length === 0 && answer.length === 0 && !error) return null;
  return { turns, answer, finish, error, tools: asked ? toolsOf(asked) : [], settings: asked ? settingsOf(asked) : [] };
}

const turnOf = (role: string, content: unknown): Turn[] => {
  const parts = partsOf(content);
  return parts.length > 0 ? [{ role, parts }] : [];
};

/** What the request says, as turns. */
export function turnsOf(body: Json): Turn[] {
  const system = body.system ?? body.instructions ?? contentOf(body.systemInstruction ?? body.system_instruction);
  const messages = listIn(body.messages).filter(isRecord);
  const contents = listIn(body.contents).filter(isRecord);
  return [
    ...turnOf('system', system),
    ...(messages.length > 0 ? messages.map((message) => messageTurn(message)) : []),
    ...contents.map((content) => messageTurn(content, textIn(content.role) || 'user')),
    ...(Array.isArray(body.input) ? body.input.flatMap(itemTurn) : turnOf('user', body.input)),
    ...turnOf('user', body.prompt),
    ...turnOf('user', body.query),
    ...listIn(body.documents).flatMap((each) => turnOf('document', isRecord(each) ? each.text : each)),
  ];
}

const contentOf = (content: unknown): unknown => (isRecord(content) ? content.parts : content);

/** An item of the Responses API; or a text to embed. */
export function itemTurn(item: unknown): Turn[] {
  if (!isRecord(item)) return turnOf('user', typeof item === 'string' ? item : JSON.stringify(item));
  if (item.type === 'message' || item.role !== undefined) return [messageTurn(item)];
  return turnOf(item.type === 'function_call_output' ? 'tool' : 'assistant', item);
}

function answerOf(body: Json): { answer: Turn[]; finish: string | null } {
  const choices = listIn(body.choices).filter(isRecord);
  if (choices.length > 0)
    return {
      answer: choices.map((choice) =>
        isRecord(choice.message) && !textIn(choice.text)
          ? messageTurn(choice.message)
          : { role: 'assistant', parts: partsOf(choice.text) },
      ),
      finish: textIn(choices[0]!.finish_reason) || null,
    };
  if (Array.isArray(body.output)) return { answer: body.output.flatMap(itemTurn), finish: textIn(body.status) || null };
  const [candidate] = listIn(body.candidates).filter(isRecord);
  if (candidate)
    return {
      answer: turnOf('assistant', contentOf(candidate.content)),
      finish: textIn(candidate.finishReason) || null,
    };
  if (Array.isArray(body.content))
    return { answer: turnOf('assistant', body.content), finish: textIn(body.stop_reason) || null };
  if (isRecord(body.message)) return { answer: [messageTurn(body.message)], finish: textIn(body.done_reason) || null };
  if (typeof body.text === 'string') return { answer: turnOf('assistant', body.text), finish: null };
  return { answer: dataOf(body), finish: null };
}

/** Vectors are counted, pictures shown. */
function dataOf(body: Json): Turn[] {
  const data = listIn(body.data).filter(isRecord);
  const vectors = data.filter(({ embedding }) => embedding !== undefined);
  if (vectors.length > 0) {
    const size = listIn(vectors[0]!.embedding).length;
    const text = `${vectors.length} ${vectors.length === 1 ? 'vector' : 'vectors'}${size ? ` of ${size} numbers` : ''}`;
    return [{ role: 'assistant', parts: [{ kind: 'text', text }] }];
  }
  const images = data
    .filter(({ b64_json, url }) => b64_json !== undefined || url !== undefined)
    .map(
      ({ b64_json, url }): Part => ({
        kind: 'image',
        source: b64_json ? `data:image/png;base64,${textIn(b64_json)}` : textIn(url),
      }),
    );
  return images.length > 0 ? [{ role: 'assistant', parts: images }] : [];
}

function errorOf({ error }: Json): string | null {
  if (typeof error === 'string') return error;
  if (!isRecord(error)) return null;
  return textIn(error.message) || JSON.stringify(error);
}

function toolsOf({ tools }: Json): OfferedTool[] {
  return listIn(tools)
    .filter(isRecord)
    .flatMap((tool) => (Array.isArray(tool.functionDeclarations) ? tool.functionDeclarations.filter(isRecord) : [tool]))
    .map((tool) => {
      const made = isRecord(tool.function) ? tool.function : tool;
      const schema = made.parameters ?? made.input_schema;
      return {
        name: textIn(made.name) || textIn(made.type) || 'a tool',
        about: textIn(made.description),
        schema: schema === undefined ? '' : JSON.stringify(schema, null, 2),
      };
    });
}

const settingsOf = (body: Json): (readonly [string, string])[] =>
  Object.entries(body)
    .filter(([name]) => !TOLD.has(name))
    .map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)] as const);
