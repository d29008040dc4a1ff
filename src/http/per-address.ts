import { GatewayError } from '../core/errors.ts';
import { networkOf } from '../core/network.ts';

const WAIT_SECONDS = '1';

/** How many requests of one address may be under way at once. Each process counts for itself. */
export class PerAddress {
  readonly #most: number;
  readonly #open = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Answers what is to be called when the request is over; throws 429 for one too many. */
  begin(address: string): () => void {
    const source = networkOf(address);
    const open = this.#open.get(source) ?? 0;
    if (open >= this.#most)
      throw new GatewayError('too_many_connections', [this.#most], {
        'retry-after': WAIT_SECONDS,
        connection: 'close',
      });
    this.#open.set(source, open + 1);
    return () => {
      const left = this.#open.get(source)! - 1;
      if (left === 0) this.#open.delete(source);
      else this.#open.set(source, left);
    };
  }
}
