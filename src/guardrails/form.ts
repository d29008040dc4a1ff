import { GatewayError } from '../core/errors.ts';
import { type PartHead, readPartHead } from '../http/multipart-head.ts';
import { isModelName } from './codes.ts';
import { textIn } from './file-text.ts';
import { Context } from './text-context.ts';
import { type FoundText, Unreadable } from './texts.ts';

const LINE_END = Buffer.from('\r\n');
const HEAD_END = Buffer.from('\r\n\r\n');

/** Fields that a program reads, and that have words of their own. */
const SETTINGS = new Set([
  'model',
  'response_format',
  'language',
  'temperature',
  'size',
  'n',
  'quality',
  'stream',
  'user',
  'style',
  'background',
  'moderation',
  'output_format',
  'output_compression',
  'partial_images',
  'input_fidelity',
  'purpose',
  'timestamp_granularities[]',
  'include[]',
]);
const USER = new Context('user', 'text', 1);

/** The boundary of a form; null where the body is none. */
export function boundaryIn(type: string): string | null {
  if (!/^multipart\/form-data\s*;/i.test(type)) return null;
  if ((type.match(/boundary\s*=/gi)?.length ?? 0) > 1) throw new Unreadable('its boundary is given twice');
  const [, quoted, token] = /;\s*boundary=(?:"([^"]{1,70})"|([^\s";,]{1,70}))/i.exec(type) ?? [];
  return quoted ?? token ?? null;
}

/** The fields of a form that are text, with their places in its bytes. Files are none, unless they are text. */
export function findFields(body: Uint8Array, boundary: string): { texts: FoundText[]; model: string | null } {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const delimiter = Buffer.from(`--${boundary}`);
  const next = Buffer.concat([LINE_END, delimiter]);
  const texts: FoundText[] = [];
  const models: string[] = [];
  let at = bytes.indexOf(delimiter);
  for (;;) {
    const after = at + delimiter.length;
    if (at >= 0 && bytes.toString('latin1', after, after + 2) === '--') break;
    const opened = at < 0 ? -1 : bytes.indexOf(LINE_END, after);
    const headed = opened < 0 ? -1 : bytes.indexOf(HEAD_END, opened);
    const closed = headed < 0 ? -1 : bytes.indexOf(next, headed + HEAD_END.length - LINE_END.length);
    // Others may read on where this one would stop.
    if (closed < 0) throw new Unreadable('its form has no end');
    const head = headOf(bytes.subarray(opened + LINE_END.length, headed));
    const [start, end] = [headed + HEAD_END.length, closed];
    const part = bytes.subarray(start, end);
    if (head.name === 'model') models.push(bytes.toString('utf8', start, end));
    const text = isText(head) ? textOf(part) : textIn(part);
    const isSetting = SETTINGS.has(head.name) && head.filename === null;
    if (text !== null && !(isSetting && isModelName(text))) texts.push(field(head.name, text, isSetting, start, end));
    at = closed + LINE_END.length;
  }
  if (models.length > 1) throw new Unreadable('its field model is given twice');
  return { texts: texts.filter(({ text }) => text !== ''), model: models[0] ?? null };
}

function headOf(bytes: Uint8Array): PartHead {
  try {
    return readPartHead(bytes);
  } catch (error) {
    if (error instanceof GatewayError) throw new Unreadable(error.message);
    throw error;
  }
}

const isText = ({ filename, type }: PartHead): boolean =>
  filename === null || type === null || /^(?:text\/|application\/(?:[\w.+-]+\+)?json)/i.test(type);

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Unreadable('a field of it is not UTF-8');
  }
}

const field = (name: string, text: string, isSetting: boolean, start: number, end: number): FoundText => ({
  text,
  role: USER.role,
  kind: isSetting ? 'name' : USER.kind,
  turn: USER.turn,
  where: name,
  channel: name,
  start,
  end,
});
