import { fail, GatewayError } from '../core/errors.ts';
import { readPartHead } from '../http/multipart-head.ts';

const LINE_END = Buffer.from('\r\n');
const HEAD_END = Buffer.from('\r\n\r\n');
const MODEL = 'model';
/** Names of models are far shorter. */
const LONGEST = 1_024;

interface Found {
  readonly start: number;
  readonly end: number;
  readonly value: string;
}

/** The boundary of a form; null where the body is none. */
export function boundaryOf(type: string | undefined): string | null {
  if (type === undefined || !/^multipart\/form-data\s*;/i.test(type)) return null;
  const [, quoted, token] = /;\s*boundary=(?:"([^"]{1,70})"|([^\s";,]{1,70}))/i.exec(type) ?? [];
  return quoted ?? token ?? null;
}

/** The field `model` of a form, when it stands whole in what was read. Forms that cannot be read are the provider's to refuse. */
export function formModel(head: Uint8Array, boundary: string): string | null {
  const [first, ...others] = modelFields(head, boundary);
  if (others.length > 0) fail('invalid_request', MODEL, 'is given twice; which one counts would be up to the provider');
  return first?.value ?? null;
}

/** The form with another value in that field. */
export function renamedInForm(head: Uint8Array, boundary: string, name: string): Uint8Array {
  const [found] = modelFields(head, boundary);
  return found ? Buffer.concat([head.subarray(0, found.start), Buffer.from(name), head.subarray(found.end)]) : head;
}

/** The form with this model in place of the one that it names, or with it before everything else. */
export function withFormModel(head: Uint8Array, boundary: string, model: string): Uint8Array {
  if (/[\r\n]/.test(model)) fail('invalid_path', 'the model that it names has a line end');
  const [found] = modelFields(head, boundary);
  if (found) return Buffer.concat([head.subarray(0, found.start), Buffer.from(model), head.subarray(found.end)]);
  const field = `--${boundary}\r\ncontent-disposition: form-data; name="${MODEL}"\r\n\r\n${model}\r\n`;
  return Buffer.concat([Buffer.from(field), head]);
}

function modelFields(head: Uint8Array, boundary: string): Found[] {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength);
  const delimiter = Buffer.from(`--${boundary}`);
  const found: Found[] = [];
  let at = bytes.indexOf(delimiter);
  while (at >= 0) {
    const opened = bytes.indexOf(LINE_END, at + delimiter.length);
    const headed = opened < 0 ? -1 : bytes.indexOf(HEAD_END, opened);
    const closed = headed < 0 ? -1 : bytes.indexOf(Buffer.concat([LINE_END, delimiter]), headed + HEAD_END.length);
    if (closed < 0) break;
    const content = { start: headed + HEAD_END.length, end: closed };
    if (content.end - content.start <= LONGEST && isModel(bytes.subarray(opened + LINE_END.length, headed)))
      found.push({ ...content, value: bytes.toString('utf8', content.start, content.end) });
    at = closed + LINE_END.length;
  }
  return found;
}

function isModel(head: Uint8Array): boolean {
  try {
    const { name, filename } = readPartHead(head);
    return name === MODEL && filename === null;
  } catch (error) {
    if (error instanceof GatewayError) return false;
    throw error;
  }
}
