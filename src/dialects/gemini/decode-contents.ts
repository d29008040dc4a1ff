import { type Fields, fault } from '../fields.ts';
import type { MediaPart, Part, Role, TextPart, ToolResultPart, Turn } from '../ir.ts';
import { isObject, present } from '../json.ts';
import { kindOf } from '../media.ts';
import { eachOf, extOf, fieldsOf, innerFields } from './fields.ts';
import { unsealed } from './signature.ts';

/** The system instruction and the contents as turns. */
export function decodeTurns(fields: Fields): Turn[] {
  const reader = new TurnReader();
  const system = innerFields(fields, 'systemInstruction');
  if (system) reader.system(system);
  const contents = eachOf(fields, 'contents', (content) => reader.content(content));
  if (!contents) fault('contents', 'a list of contents', undefined);
  return reader.turns;
}

interface Called {
  readonly id: string;
  readonly name: string;
  isAnswered: boolean;
}

class TurnReader {
  readonly turns: Turn[] = [];
  /** The calls so far: clients may leave out the ids, and name only the function. */
  readonly #calls: Called[] = [];
  #madeIds = 0;

  system(fields: Fields) {
    const parts = this.#parts(fields);
    fields.take('role');
    if (parts.length > 0)
      this.turns.push(present<Turn>({ role: 'system', parts, ext: extOf(fields), at: fields.path }));
  }

  content(fields: Fields) {
    const said = fields.optionalString('role') ?? 'user';
    if (said !== 'user' && said !== 'model' && said !== 'function') fault(fields.pathOf('role'), 'user or model', said);
    const role: Role = said === 'model' ? 'assistant' : 'user';
    const parts = this.#parts(fields);
    const ext = extOf(fields);
    // Results of functions come beside what the user says; they become turns of their own.
    const turns: { role: Role; parts: Part[] }[] = [];
    for (const part of parts) {
      if (part.type === 'tool-call' && role === 'user')
        fault(part.at ?? fields.path, 'in a content of role model', 'user');
      const turnRole = part.type === 'tool-result' ? 'tool' : role;
      const last = turns.at(-1);
      if (last?.role === turnRole) last.parts.push(part);
      else turns.push({ role: turnRole, parts: [part] });
    }
    if (turns.length === 0) turns.push({ role, parts: [] });
    for (const [index, turn] of turns.entries())
      this.#add({ ...turn, at: fields.path, ...(index === 0 && ext && { ext }) });
  }

  /** Results in a row are one turn, and so is what the model said: clients keep every chunk of a stream as a content. */
  #add(turn: Turn) {
    const last = this.turns.at(-1);
    const isJoined = last?.role === turn.role && !turn.ext && (turn.role === 'tool' || turn.role === 'assistant');
    if (!isJoined) this.turns.push(turn);
    else this.turns[this.turns.length - 1] = { ...last, parts: withMore(last.parts, turn.parts) };
  }

  #parts(fields: Fields): Part[] {
    return (eachOf(fields, 'parts', (part) => this.#part(part)) ?? []).flat();
  }

  #part(fields: Fields): Part[] {
    const at = fields.path;
    const signature = fields.optionalString('thoughtSignature');
    const signed = signature ? unsealed(signature) : undefined;
    const call = innerFields(fields, 'functionCall');
    if (call) {
      const made = present<Part>({ ...this.#call(call), ext: extOf(fields, { ...call.rest() }), at });
      if (!signature || !signed) return [made];
      // Gemini's own signature of a call is a thought that only Gemini reads.
      const thought = signed.signedBy === 'gemini' ? { redacted: signature, signedBy: signed.signedBy } : signed;
      return [{ type: 'reasoning', ...thought, at }, made];
    }
    const result = innerFields(fields, 'functionResponse');
    if (result) return [present<Part>({ ...this.#result(result), ext: extOf(fields, { ...result.rest() }), at })];
    const isThought = fields.boolean('thought') === true;
    const text = fields.optionalString('text');
    if (text === undefined)
      return [mediaOf(fields, signature) ?? { type: 'opaque', dialect: 'gemini', raw: fields.raw(), at }];
    const ext = extOf(fields);
    if (isThought)
      return text || signed
        ? [
            present<Part>({
              type: 'reasoning',
              text: signed?.redacted ? undefined : text || undefined,
              ...signed,
              ext,
              at,
            }),
          ]
        : [];
    const said: Part[] = text ? [present<TextPart>({ type: 'text', text, ext, at })] : [];
    return signed ? [...said, { type: 'reasoning', ...signed, at }] : said;
  }

  #call(fields: Fields): Part {
    const name = fields.string('name');
    const id = fields.optionalString('id') || `call_${this.#madeIds++}`;
    this.#calls.push({ id, name, isAnswered: false });
    return { type: 'tool-call', id, name, argsText: JSON.stringify(fields.json('args') ?? {}) };
  }

  #result(fields: Fields): ToolResultPart {
    const name = fields.string('name');
    const id = fields.optionalString('id') || this.#idOf(name, fields.path);
    const called = this.#calls.find((call) => call.id === id);
    if (called) called.isAnswered = true;
    const response = fields.json('response') ?? {};
    const files = eachOf(fields, 'parts', resultFile) ?? [];
    const { texts, isError } = said(response);
    const at = fields.pathOf('response');
    return present<ToolResultPart>({
      type: 'tool-result',
      id,
      parts: [...texts.map((text) => ({ type: 'text', text, at }) as const), ...files],
      isError: isError ? true : undefined,
    });
  }

  /** The first call of that function which has no answer yet. */
  #idOf(name: string, path: string): string {
    const open = this.#calls.find((call) => call.name === name && !call.isAnswered);
    return open?.id ?? fault(`${path}.name`, 'the name of a function that was called before and has no answer', name);
  }
}

function withMore(parts: readonly Part[], more: readonly Part[]): readonly Part[] {
  const last = parts.at(-1);
  const [first, ...others] = more;
  if (last?.type !== 'text' || first?.type !== 'text' || last.ext || first.ext) return [...parts, ...more];
  return [...parts.slice(0, -1), { ...last, text: last.text + first.text }, ...others];
}

/** Google's words for what came of a call are `output` and `error`; without them the whole is the output. */
function said(response: Readonly<Record<string, unknown>>): { readonly texts: string[]; readonly isError: boolean } {
  const names = Object.keys(response);
  const [only] = names;
  const isError = names.length === 1 && only === 'error';
  const value = names.length === 1 && (isError || only === 'output') ? response[only!] : response;
  if (Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string'))
    return { texts: value, isError };
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return { texts: text === '' ? [] : [text], isError };
}

const resultFile = (fields: Fields): MediaPart =>
  mediaOf(fields, undefined) ?? fault(fields.path, 'inlineData or fileData', undefined);

function mediaOf(fields: Fields, signature: string | undefined): MediaPart | null {
  const { inlineData, fileData } = fields.raw();
  const name = isObject(inlineData) ? 'inlineData' : isObject(fileData) ? 'fileData' : null;
  if (!name || fields.raw().thought === true) return null;
  const file = fieldsOf(fields.take(name), fields.pathOf(name));
  const mime = file.optionalString('mimeType');
  const source =
    name === 'inlineData'
      ? ({ type: 'data', data: standardBase64(file.string('data')) } as const)
      : ({ type: 'url', url: file.string('fileUri') } as const);
  return present<MediaPart>({
    type: 'media',
    kind: mime ? kindOf(mime) : 'document',
    source,
    mime,
    title: file.optionalString('displayName'),
    ext: extOf(fields, { ...file.rest(), ...(signature && { thoughtSignature: signature }) }),
    at: fields.path,
  });
}

/** Google takes both alphabets. */
const standardBase64 = (data: string): string =>
  /[-_]/.test(data) ? data.replaceAll('-', '+').replaceAll('_', '/') : data;
