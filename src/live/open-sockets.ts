import { fail } from '../core/errors.ts';

const LOOKED_AT_MS = 1_000;

/** The WebSockets that are open in this process: how many of each key, and one clock for all of them. */
export class OpenSockets {
  readonly #perKey: number;
  readonly #perProcess: number;
  readonly #looks = new Set<() => void>();
  readonly #ofKey = new Map<string, number>();
  #clock: ReturnType<typeof setInterval> | null = null;

  constructor({ perKey, perProcess }: { readonly perKey: number; readonly perProcess: number }) {
    this.#perKey = perKey;
    this.#perProcess = perProcess;
  }

  get size(): number {
    return this.#looks.size;
  }

  /** Counts one more, which is looked at now and then. Answers what is to be called when it is over; throws 429 or 503. */
  enter(keyId: string, look: () => void): () => void {
    if (this.#looks.size >= this.#perProcess) fail('sockets_exhausted', this.#perProcess);
    const open = this.#ofKey.get(keyId) ?? 0;
    if (open >= this.#perKey) fail('too_many_sockets', this.#perKey);
    this.#ofKey.set(keyId, open + 1);
    this.#looks.add(look);
    this.#clock ??= setInterval(() => {
      for (const each of this.#looks) each();
    }, LOOKED_AT_MS);
    return () => this.#leave(keyId, look);
  }

  close(): void {
    if (this.#clock) clearInterval(this.#clock);
    this.#clock = null;
  }

  #leave(keyId: string, look: () => void): void {
    if (!this.#looks.delete(look)) return;
    const left = this.#ofKey.get(keyId)! - 1;
    if (left === 0) this.#ofKey.delete(keyId);
    else this.#ofKey.set(keyId, left);
    if (this.#looks.size === 0) this.close();
  }
}
