import type { Client } from 'pg';

export interface ListenerOptions {
  readonly databaseUrl: string;
  readonly onNotification: (channel: string, payload: string) => void;
  /** From now on every notification arrives; those of the time before may have been missed. */
  readonly onListening: () => void;
  readonly onLost: () => void;
}

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5_000;
/** So long may the connection be silent when it is asked something; a dead network says nothing else. */
const ANSWER_MS = 3_000;

/**
 * One connection of its own that hears what other nodes say. A pool would not do: a connection that is given back may
 * be lent to other code. When the connection breaks it is made again, with growing pauses.
 */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #channels = new Set<string>();
  #client: Client | null = null;
  #lastQuery: Promise<unknown> = Promise.resolve();
  #retryMs = FIRST_RETRY_MS;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  get isListening(): boolean {
    return this.#client !== null;
  }

  /** Resolves after the first attempt, whatever came of it. */
  async connect(): Promise<void> {
    const { Client } = await import('pg');
    const client = new Client({
      connectionString: this.#options.databaseUrl,
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
      keepAlive: true,
      application_name: 'gateway listener',
    });
    // Unheard, either would end the process.
    client.on('error', () => this.#lost(client));
    client.on('end', () => this.#lost(client));
    client.on('notification', ({ channel, payload }) => this.#options.onNotification(channel, payload ?? ''));
    try {
      await client.connect();
      for (const channel of this.#channels) await client.query(listenTo(channel));
    } catch {
      client.end().catch(() => {});
      return this.#retry();
    }
    if (this.#isClosed) return void client.end().catch(() => {});
    this.#client = client;
    this.#retryMs = FIRST_RETRY_MS;
    this.#options.onListening();
  }

  listen(channel: string): void {
    if (this.#channels.has(channel)) return;
    this.#channels.add(channel);
    this.query(listenTo(channel)).catch(() => {});
  }

  /** Asks on the listening connection itself, which also shows whether it is still there. */
  async query<Row>(text: string): Promise<Row[]> {
    const client = this.#client;
    if (!client) throw new Error('not listening');
    // A client takes one question at a time.
    const asking = this.#lastQuery.then(() => client.query(text));
    this.#lastQuery = asking.catch(() => {});
    try {
      return (await asking).rows as Row[];
    } catch (error) {
      this.#lost(client);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => {});
  }

  #lost(client: Client) {
    if (client !== this.#client) return;
    this.#client = null;
    client.end().catch(() => {});
    this.#options.onLost();
    this.#retry();
  }

  #retry() {
    if (this.#isClosed) return;
    // Nodes that lost the same server do not all come back in the same moment.
    const delayMs = this.#retryMs * (0.5 + Math.random());
    this.#retryMs = Math.min(LONGEST_RETRY_MS, this.#retryMs * 2);
    this.#timer = setTimeout(() => void this.connect(), delayMs);
    this.#timer.unref?.();
  }
}

const listenTo = (channel: string) => `listen "${channel.replaceAll('"', '""')}"`;
