import type { WorkspaceId } from '../../core/ids.ts';

/** No place became free in time. */
export class NoPlace extends Error {
  override readonly name = 'NoPlace';
}

interface Waiting {
  readonly workspaceId: WorkspaceId;
  readonly enter: () => void;
}

/** A number of places. When one becomes free, it goes to the workspace that has the fewest. */
export class Places {
  readonly #most: number;
  readonly #taken: WorkspaceId[] = [];
  readonly #waiting: Waiting[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  get isFull(): boolean {
    return this.#taken.length >= this.#most;
  }

  get isWanted(): boolean {
    return this.#waiting.length > 0;
  }

  /** Answers what gives it back. */
  async take(workspaceId: WorkspaceId, signal: AbortSignal, withinMs: number): Promise<() => void> {
    signal.throwIfAborted();
    if (this.isFull) await this.#turn(workspaceId, signal, withinMs);
    else this.#taken.push(workspaceId);
    return () => this.#leave(workspaceId);
  }

  async #turn(workspaceId: WorkspaceId, signal: AbortSignal, withinMs: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { workspaceId, enter: resolve };
    const giveUp = (reason: unknown) => {
      const index = this.#waiting.indexOf(waiting);
      // A call whose turn has come has its place already.
      if (index < 0) return;
      this.#waiting.splice(index, 1);
      reject(reason);
    };
    const timer = setTimeout(() => giveUp(new NoPlace()), withinMs);
    const abort = () => giveUp(signal.reason);
    signal.addEventListener('abort', abort);
    this.#waiting.push(waiting);
    await promise.finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    });
  }

  #leave(workspaceId: WorkspaceId) {
    this.#taken.splice(this.#taken.indexOf(workspaceId), 1);
    const has = (id: WorkspaceId) => this.#taken.filter((each) => each === id).length;
    // Sorting keeps the order of those that are equal: the longest wait comes first.
    const next = this.#waiting.toSorted((one, other) => has(one.workspaceId) - has(other.workspaceId))[0];
    if (!next) return;
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    this.#taken.push(next.workspaceId);
    next.enter();
  }
}
