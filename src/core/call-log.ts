/** Who is to blame for a failed call; null when it did not fail. */
export type FailedBy = 'gateway' | 'provider' | 'client';

/** Takes note of a body as it passes, without holding it up. */
export interface Capture {
  /** Nobody reads or writes the pieces once the entry is closed, so they may be moved to another thread as they are. */
  transferable: boolean;
  add(piece: Uint8Array): void;
}

/** How a request ended. */
export interface Outcome {
  readonly status: number;
  readonly failedBy?: FailedBy | null;
  readonly errorCode?: string | null;
}

/** What the parts of the gateway tell the request log about a call while it is under way. */
export interface CallLog {
  virtualKey: string | null;
  provider: string | null;
  model: string | null;
  metadata: Readonly<Record<string, string>> | null;
  isStream: boolean;
  /** Whether the bodies and headers of this call are stored. */
  keepBodies: boolean;
  requestHeaders: Readonly<Record<string, string>> | null;
  responseHeaders: Readonly<Record<string, string>> | null;
  /** Starts to take note of a body; its pieces go into what this answers. */
  captureRequest(): Capture;
  captureResponse(): Capture;
  /** Set by whoever answers with a stream: the entry then closes on the stream's last byte. */
  closesLater: boolean;
  firstByte(): void;
  /** The first call counts. */
  close(outcome: Outcome): void;
}
