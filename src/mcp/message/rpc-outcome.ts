import { findMembers } from '../../core/json-bytes.ts';
import { dataOf, EventCutter } from './events.ts';

/** What is not looked at for an error; nothing waits for this look. */
const MOST_BYTES = 256 << 10;
/** The code of a denial by a guardrail, which the gateway itself answers in a stream. */
const DENIED = '446';

/** The error that an answer with a good status holds, as the log names it; null when there is none. */
export function errorIn(message: Uint8Array): string | null {
  const error = within(message, 'error');
  if (error) {
    const code = within(error, 'code');
    const spelt = code ? Buffer.from(code).toString('latin1') : '';
    return spelt === DENIED ? 'guardrail_denied' : `jsonrpc_${/^-?\d{1,10}$/.test(spelt) ? spelt : 'error'}`;
  }
  const result = within(message, 'result');
  const failed = result && within(result, 'isError');
  return failed && Buffer.from(failed).toString('latin1') === 'true' ? 'tool_error' : null;
}

function within(bytes: Uint8Array, name: string): Uint8Array | null {
  const [member] = findMembers(bytes, name, 1);
  return member ? bytes.subarray(member.start, member.end) : null;
}

/** Watches an answer pass, so that the log knows of errors in it and where an event ends. */
export interface AnswerWatch {
  readonly errorCode: string | null;
  /** Whether something may stand between the last byte and the next. */
  readonly isBetweenEvents: boolean;
  add(piece: Uint8Array): void;
  end(): void;
}

export const watchAnswer = (isStream: boolean): AnswerWatch => (isStream ? new EventWatch() : new BodyWatch());

class EventWatch implements AnswerWatch {
  readonly #cutter = new EventCutter({ mostBytes: MOST_BYTES, skipsLarge: true });
  errorCode: string | null = null;

  get isBetweenEvents(): boolean {
    return this.#cutter.isBetween;
  }

  add(piece: Uint8Array) {
    for (const event of this.#cutter.push(piece)) {
      if (this.errorCode !== null) continue;
      const data = dataOf(event);
      if (data) this.errorCode = errorIn(Buffer.from(data));
    }
  }

  end() {}
}

class BodyWatch implements AnswerWatch {
  readonly isBetweenEvents = false;
  errorCode: string | null = null;
  #pieces: Uint8Array[] = [];
  #size = 0;

  add(piece: Uint8Array) {
    this.#size += piece.byteLength;
    if (this.#size <= MOST_BYTES) this.#pieces.push(piece.slice());
    else this.#pieces = [];
  }

  end() {
    if (this.#size <= MOST_BYTES) this.errorCode = errorIn(Buffer.concat(this.#pieces));
  }
}

/** Who failed, for the log: a denial is the gateway's, everything else in an answer the server's. */
export const failedBy = (status: number, errorCode: string | null): 'gateway' | 'provider' | null => {
  if (errorCode === 'guardrail_denied') return 'gateway';
  return status >= 400 || errorCode !== null ? 'provider' : null;
};
