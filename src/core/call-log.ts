import type { PriceList } from './prices.ts';
import type { Usage } from './usage.ts';

/** Who is to blame for a failed call; null when it did not fail. */
export type FailedBy = 'gateway' | 'provider' | 'client';

/** Takes note of a body as it passes, without holding it up. */
export interface Capture {
  /**
   * No code reads or writes the pieces after the entry is closed, so they may be moved to another thread as they are.
   */
  transferable: boolean;
  add(piece: Uint8Array): void;
}

/** How a request ended. */
export interface Outcome {
  readonly status: number;
  readonly failedBy?: FailedBy | null;
  readonly errorCode?: string | null;
}

/** What a call took, as far as it is known. */
export interface Counted {
  readonly usage: Usage | null;
  readonly cost: number | null;
  /** The model that answered. */
  readonly model: string | null;
}

/**
 * What the relay tells of the targets that it tries, in this order: `aims` at one, `looksUp` in its cache, `asks` it, it has
 * `answered`. Where its answer does not become the call's, it `failed`, or the relay `leaves` it.
 */
export interface AttemptLog {
  /** A target has its turn: `config`, `config.targets[1]`. */
  aims(target: string): void;
  /** A target is not tried, and why. */
  passesOver(target: string, reason: string, virtualKey: string | null, provider: string | null): void;
  /** What the cache said; `since` is a moment of the monotonic clock. */
  looksUp(status: string, since: number): void;
  /** A request goes out; null: to a provider inside this process. `reason`: why once more, where no retry policy says so. */
  asks(url: string | null, reason: string | null): void;
  /** Its answer has begun. `connectMs`: how long a connection took; null: there was one. */
  answered(status: number, connectMs: number | null): void;
  /** The first call counts. */
  failed(status: number, code: string): void;
  leaves(): void;
  /** What the request that it was told of last says of its trace; null: calls are not traced. */
  outgoingTrace(): OutgoingTrace | null;
}

/** W3C's Trace Context, as it goes to a provider. */
export interface OutgoingTrace {
  readonly traceparent: string;
  readonly tracestate: string | null;
}

/** What the parts of the gateway tell the request log about a call while it is under way. */
export interface CallLog extends AttemptLog {
  virtualKey: string | null;
  provider: string | null;
  model: string | null;
  /** What the virtual key pays where that is not the list price. */
  prices: PriceList | null;
  metadata: Readonly<Record<string, string>> | null;
  isStream: boolean;
  /** The answer was one that had been kept; it cost nothing. */
  isCached: boolean;
  /** Set by the part of the gateway that counted tokens itself; otherwise read from the answer. */
  usage: Usage | null;
  /** What the request asked for that is not paid by tokens: pictures, text that is spoken. */
  asked: Usage | null;
  /** The model that the same part was told of; null: it is read from the answer, or unknown. */
  answeredBy: string | null;
  /** Whether the bodies and headers of this call are stored. */
  keepBodies: boolean;
  requestHeaders: Readonly<Record<string, string>> | null;
  responseHeaders: Readonly<Record<string, string>> | null;
  /** What guardrails have found: `before_request_hooks` and `after_request_hooks`. */
  hookResults: unknown;
  /** Called once, some milliseconds after the last byte, with what the call took; cost in US dollars. */
  onCounted: ((counted: Counted) => void) | null;
  /** Starts to take note of a body; its pieces go into what this answers. */
  captureRequest(): Capture;
  captureResponse(): Capture;
  /** The same for what goes to a target in other words than the client's, and for what it says to that; null: it is not kept. */
  captureSent(): Capture | null;
  captureReceived(): Capture | null;
  /** Set by a handler that answers with a stream: the entry then closes on the stream's last byte. */
  closesLater: boolean;
  /** Work that still has something to say of the call: the entry is stored without it, and completed when it has ended. */
  awaits(work: Promise<unknown>): void;
  firstByte(): void;
  /** The first call counts. */
  close(outcome: Outcome): void;
  /** The call itself in its trace, as the parent of what is done for it elsewhere or later; null: calls are not traced. */
  callTrace(): OutgoingTrace | null;
  /** What was called says itself of which span it is a part; what its HTTP request said becomes a link. */
  continuesTrace(trace: OutgoingTrace): void;
  /** Something that was done for the call and that its entry does not tell of. Its parent is the call. */
  didStep(step: TracedStep): void;
}

/** A part of a call, as a span below the call's own. */
export interface TracedStep {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** What was said; exported only where the operator wants that. */
  readonly content?: Readonly<Record<string, string>>;
}

/** Writes nothing: for calls that have no entry, and for those that another entry speaks for. */
export const silentLog = (): CallLog => ({
  virtualKey: null,
  provider: null,
  model: null,
  prices: null,
  metadata: null,
  isStream: false,
  isCached: false,
  usage: null,
  asked: null,
  answeredBy: null,
  keepBodies: false,
  requestHeaders: null,
  responseHeaders: null,
  hookResults: null,
  onCounted: null,
  captureRequest: () => ({ transferable: false, add: () => {} }),
  captureResponse: () => ({ transferable: false, add: () => {} }),
  captureSent: () => null,
  captureReceived: () => null,
  closesLater: false,
  awaits: () => {},
  aims: () => {},
  passesOver: () => {},
  looksUp: () => {},
  asks: () => {},
  answered: () => {},
  failed: () => {},
  leaves: () => {},
  outgoingTrace: () => null,
  firstByte: () => {},
  close: () => {},
  callTrace: () => null,
  continuesTrace: () => {},
  didStep: () => {},
});
