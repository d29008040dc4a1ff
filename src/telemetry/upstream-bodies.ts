import { BodyCapture } from './capture.ts';
import type { PackedExchange } from './packed-bodies.ts';

/** Of so many targets at most; those of the first ones go. */
const MOST_TARGETS = 8;

interface Exchanged {
  readonly target: string;
  readonly request: BodyCapture;
  response: BodyCapture | null;
}

/** What went to providers in other words than the client's, and what came back: of each target the last request. */
export class UpstreamBodies {
  readonly #exchanged: Exchanged[] = [];

  sent(target: string, capBytes: number): BodyCapture {
    const request = new BodyCapture(capBytes);
    // The client below has let go of what it was given when its exchange ends.
    request.transferable = true;
    if (this.#exchanged.length >= MOST_TARGETS) this.#exchanged.shift();
    this.#exchanged.push({ target, request, response: null });
    return request;
  }

  received(capBytes: number): BodyCapture | null {
    const last = this.#exchanged.at(-1);
    if (!last) return null;
    last.response = new BodyCapture(capBytes);
    return last.response;
  }

  get keptBytes(): number {
    return this.captures.reduce((total, { keptBytes }) => total + keptBytes, 0);
  }

  get captures(): BodyCapture[] {
    return this.#exchanged.flatMap(({ request, response }) => (response ? [request, response] : [request]));
  }

  /** How the bodies lie one after the other, in the order of `captures`. */
  get facts(): PackedExchange[] {
    return this.#exchanged.map(({ target, request, response }) => ({
      target,
      request_kept: request.keptBytes,
      request_truncated: request.truncated,
      response_kept: response?.keptBytes ?? 0,
      response_truncated: response?.truncated ?? false,
    }));
  }
}
