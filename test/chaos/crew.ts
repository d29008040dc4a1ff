export interface Member {
  readonly name: string;
  readonly child: Bun.Subprocess<'ignore', 'pipe', 'inherit'>;
  isAwake: boolean;
}

export interface CrewOptions {
  /** How long a process that thaws gets to write what it must not, before it counts as awake. */
  readonly thawingMs?: number;
  /** Gets what the processes say beside `ready`. */
  readonly onLine?: (line: string) => void;
}

/** Processes that do the same work, and to whom things happen. Each says `ready` when it works and ends on SIGTERM. */
export class Crew<Order extends object> {
  readonly #script: string;
  readonly #order: Order;
  readonly #thawingMs: number;
  readonly #onLine: (line: string) => void;
  readonly #members = new Map<string, Member>();
  readonly #arrivals: Promise<void>[] = [];
  #hired = 0;

  constructor(script: string, order: Order, { thawingMs = 700, onLine = () => {} }: CrewOptions = {}) {
    this.#script = script;
    this.#order = order;
    this.#thawingMs = thawingMs;
    this.#onLine = onLine;
  }

  get awake(): Member[] {
    return [...this.#members.values()].filter(({ isAwake }) => isAwake);
  }

  /** Resolves when it works. */
  add(): Promise<void> {
    const name = `worker ${++this.#hired}`;
    const order = JSON.stringify({ ...this.#order, name });
    const child = Bun.spawn([process.execPath, this.#script, order], {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'inherit',
    });
    const ready = Promise.withResolvers<void>();
    void this.#listen(child, () => {
      this.#members.set(name, { name, child, isAwake: true });
      ready.resolve();
    });
    void child.exited.then((code) => ready.reject(new Error(`${name} ended with ${code} instead of starting`)));
    this.#arrivals.push(ready.promise);
    return ready.promise;
  }

  async #listen(child: Member['child'], onReady: () => void) {
    const decoder = new TextDecoder();
    let text = '';
    for await (const piece of child.stdout as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(piece, { stream: true });
      const lines = text.split('\n');
      text = lines.pop()!;
      for (const line of lines) {
        if (line === 'ready') onReady();
        else this.#onLine(line);
      }
    }
  }

  async kill({ name, child }: Member): Promise<void> {
    this.#members.delete(name);
    child.kill('SIGKILL');
    await child.exited;
  }

  freeze(member: Member, forMs: number) {
    member.isAwake = false;
    member.child.kill('SIGSTOP');
    setTimeout(() => member.child.kill('SIGCONT'), forMs);
    setTimeout(() => {
      member.isAwake = true;
    }, forMs + this.#thawingMs);
  }

  /** Lets the frozen thaw and do what they can, then ends all; answers their exit codes. */
  async stop(): Promise<number[]> {
    await Promise.all(this.#arrivals);
    while (this.awake.length < this.#members.size) await Bun.sleep(50);
    for (const { child } of this.awake) child.kill('SIGTERM');
    return Promise.all([...this.#members.values()].map(({ child }) => child.exited));
  }

  async abandon(): Promise<void> {
    await Promise.allSettled(this.#arrivals);
    for (const { child } of this.#members.values()) child.kill('SIGKILL');
    await Promise.all([...this.#members.values()].map(({ child }) => child.exited));
  }
}
