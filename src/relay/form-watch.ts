import { GatewayError } from '../core/errors.ts';
import { readPartHead } from '../http/multipart-head.ts';
import type { BodyWatch } from './call.ts';

const LINE_END = Buffer.from('\r\n');
const HEAD_END = Buffer.from('\r\n\r\n');
const CLOSING = Buffer.from('--');
const MOST_HEAD_BYTES = 16 << 10;
/** Names of models are far shorter. */
const LONGEST = 1_024;
const MODEL = 'model';

/**
 * The boundary of a form, where every reader would take the same one; else null. A form whose type names two, or one that
 * is written in a way some readers do not know, has none.
 */
export function plainBoundary(type: string): string | null {
  const [, quoted, token] = PLAIN_TYPE.exec(type) ?? [];
  return type.match(/boundary[\s*\d]*=/gi)?.length === 1 ? (quoted ?? token ?? null) : null;
}

const OTHER = String.raw`[\w-]+=(?:"[^"]*"|[^\s;",]*)`;
const PLAIN_TYPE = new RegExp(
  String.raw`^multipart/form-data\s*;\s*(?:${OTHER}\s*;\s*)*boundary=(?:"([\w'()+,./:=? -]{1,70})"|([\w'()+./:=?-]{1,70}))\s*(?:;\s*${OTHER}\s*)*;?$`,
  'i',
);

/**
 * Looks for the field `model` in a form that passes in pieces, and for anything that another reader might take for one:
 * what decides about a call must be what the provider reads. Holds no more than a piece and the head of a part.
 */
export class FormWatch {
  /** Those that stand whole in what has passed. */
  readonly models: string[] = [];
  /** Why the gateway cannot know what the form holds. Nothing behind it is looked at. */
  fault: string | null = null;
  readonly #mark: Buffer;
  /** At first the line end that belongs to a boundary: the first has none. */
  #held: Buffer = LINE_END;
  #state: 'content' | 'head' | 'closed' = 'content';
  /** The content so far of the field that is being read, when that is the model. */
  #value: Buffer[] | null = null;

  constructor(boundary: string) {
    this.#mark = Buffer.from(`--${boundary}`);
  }

  /** Whether its last boundary has passed. */
  get isClosed(): boolean {
    return this.#state === 'closed';
  }

  push(piece: Uint8Array): void {
    if (this.fault !== null) return;
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    this.#held = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    while (this.fault === null && (this.#state === 'head' ? this.#readHead() : this.#readContent()));
    // A copy: what is held must not keep the piece that it was a part of.
    this.#held = Buffer.from(this.#held);
  }

  /** Passes what lies before the next boundary, and the boundary. False: more has to come. */
  #readContent(): boolean {
    const held = this.#held;
    const at = held.indexOf(this.#mark);
    if (at < 0) {
      const kept = Math.min(held.length, this.#mark.length + LINE_END.length);
      this.#pass(held.length - kept);
      return false;
    }
    const end = at + this.#mark.length;
    if (held.length < end + 2) {
      this.#pass(Math.max(0, at - LINE_END.length));
      return false;
    }
    const behind = held.subarray(end, end + 2);
    const isOpening = behind.equals(LINE_END);
    const isAlone = at >= 2 && held.subarray(at - 2, at).equals(LINE_END) && (isOpening || behind.equals(CLOSING));
    if (!isAlone || this.#state === 'closed') return this.#fail('a boundary does not stand on a line of its own');
    this.#pass(at - LINE_END.length);
    if (this.#value) this.models.push(Buffer.concat(this.#value).toString('utf8'));
    this.#value = null;
    this.#held = held.subarray(end + 2);
    this.#state = isOpening ? 'head' : 'closed';
    return true;
  }

  #pass(bytes: number): void {
    if (bytes <= 0) return;
    if (this.#value) {
      this.#value.push(Buffer.from(this.#held.subarray(0, bytes)));
      if (this.#value.reduce((sum, { length }) => sum + length, 0) > LONGEST) this.#fail('its field model is too long');
    }
    this.#held = this.#held.subarray(bytes);
  }

  #readHead(): boolean {
    const end = this.#held.indexOf(HEAD_END);
    if (end < 0) return this.#held.length > MOST_HEAD_BYTES ? this.#fail('the head of a part is too long') : false;
    const fault = this.#judgeHead(this.#held.subarray(0, end));
    this.#held = this.#held.subarray(end + HEAD_END.length);
    this.#state = 'content';
    return fault === null || this.#fail(fault);
  }

  /** Why readers may differ about this part; null: they do not. */
  #judgeHead(bytes: Buffer): string | null {
    const text = bytes.toString('latin1');
    if (/\0|[^\r]\n|\r(?!\n)|\n[ \t]/.test(text)) return 'the head of a part is broken';
    if (text.match(/^content-disposition[ \t]*:/gim)?.length !== 1) return 'a part is not named once';
    const disposition = /^content-disposition[ \t]*:(.*)$/im.exec(text)![1]!.replace(/"(?:[^"\\]|\\.)*"/g, '""');
    if (
      disposition.match(/;\s*name\s*=/gi)?.length !== 1 ||
      /name\*\s*=/i.test(disposition.replace(/filename\*/gi, ''))
    )
      return 'a part is not named once';
    try {
      const { name, filename, type } = readPartHead(bytes);
      if (!isLikeModel(name)) return null;
      if (name !== MODEL) return `it has a field that may be taken for model`;
      if (filename !== null) return 'its field model is a file';
      if (/charset/i.test(type ?? '') && !/charset="?(utf-8|us-ascii)"?\s*(;|$)/i.test(type!))
        return 'its field model is not in UTF-8';
      this.#value = [];
      return null;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return 'the head of a part cannot be read';
    }
  }

  #fail(fault: string): false {
    this.fault = fault;
    return false;
  }
}

/** As some reader may write it: without quotes, escapes and spaces, or as a list. */
const isLikeModel = (name: string): boolean =>
  /=\?/.test(name) || /^model(\[\d*\])?$/i.test(name.replace(/[\\\s"'\0]/g, ''));

/** Counts the models behind what a watch has seen. With `faults` what may be one counts, too. */
export function furtherModels(watch: FormWatch, { faults }: { readonly faults: boolean }): BodyWatch {
  const known = watch.models.length;
  return {
    push: (piece) => {
      watch.push(piece);
      return faults && watch.fault !== null ? 1 : watch.models.length - known;
    },
  };
}
