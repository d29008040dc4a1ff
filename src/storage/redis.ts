import { createHash } from 'node:crypto';
import { RedisClient } from 'bun';
import { every, isQuiet, RARELY_SECONDS } from '../core/runtime/seconds.ts';

/** A Lua script, known to Redis by the hash of its text. */
export interface RedisScript {
  readonly text: string;
  readonly sha: string;
}

const scripts: RedisScript[] = [];

/** To be made once, when a module is loaded: each connection tells Redis all of them before it is up. */
export function redisScript(text: string): RedisScript {
  const script = { text, sha: createHash('sha1').update(text).digest('hex') };
  scripts.push(script);
  return script;
}

/** What stands behind a connection. */
export interface RedisServer {
  /** Changes whenever the process does: what another process holds in memory may be older than what this one held. */
  readonly runId: string;
  /** Whether it throws away keys when its memory is full. */
  readonly evicts: boolean;
}

/**
 * One connection to Redis. A command on a Redis that is away fails at once, one that gets no answer after about half a
 * second; nothing is queued, nothing is sent twice. The connection is made again by itself.
 */
export interface Redis {
  /** Answers what the script returns, strings and numbers. */
  eval(script: RedisScript, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  get(key: string): Promise<Uint8Array | null>;
  set(key: string, value: Uint8Array | string, options: { expiresMs: number }): Promise<void>;
  del(...keys: string[]): Promise<void>;
  ping(): Promise<void>;
  /** Whether it took a write on this connection lately. */
  readonly isUp: boolean;
  /** Null while it is not up. */
  readonly server: RedisServer | null;
  onUp(handler: () => void): void;
  /** Called once for each connection that is lost; `why` holds no address and no secret. */
  onDown(handler: (why: string) => void): void;
  /** Whether it was up before the time was over. */
  whenUp(timeoutMs: number): Promise<boolean>;
  close(): void;
}

export interface RedisOptions {
  /** How long a command may go without any answer on its connection. */
  readonly answerMs?: number;
}

/** Redis is away, or did not answer in time. Whether the command was carried out is not known. */
export class RedisUnavailable extends Error {
  override readonly name = 'RedisUnavailable';
}

const TICK_MS = 100;
/** Between two signs of life that an idle connection is asked for. */
const PROBE_SECONDS = 1;
const SLOWEST_RETRY_MS = 1_000;
/** A replica, a full memory or a failed disk refuse writes and still answer PING. */
const PROBE_KEY = 'gateway:probe';

export const connectRedis = (url: string, options: RedisOptions = {}): Redis => new Connection(url, options);

class Connection implements Redis {
  readonly #url: string;
  readonly #answerMs: number;
  readonly #probing: { stop(): void };
  /** Runs while an answer is owed or there is no connection. */
  #ticker: ReturnType<typeof setInterval> | null = null;
  readonly #upHandlers: (() => void)[] = [];
  readonly #downHandlers: ((why: string) => void)[] = [];
  #client: RedisClient | null = null;
  #server: RedisServer | null = null;
  #isClosed = false;
  /** Answers come in the order of commands, so one count says whether any are owed. */
  #owed = 0;
  #silentTicks = 0;
  #retryMs = TICK_MS;
  #retryAt = 0;

  constructor(url: string, { answerMs = 500 }: RedisOptions) {
    this.#url = url;
    this.#answerMs = answerMs;
    const probe = () => this.#client && this.#server && void this.#probe(this.#client);
    this.#probing = every(PROBE_SECONDS, probe, RARELY_SECONDS);
    void this.#connect();
  }

  get isUp() {
    return this.#server !== null;
  }

  get server() {
    return this.#server;
  }

  async eval(script: RedisScript, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args];
    try {
      return await this.#ask((client) => client.send('EVALSHA', [script.sha, ...rest]));
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      // Redis has forgotten its scripts: it was restarted, or an operator flushed them.
      return this.#ask((client) => client.send('EVAL', [script.text, ...rest]));
    }
  }

  get(key: string): Promise<Uint8Array | null> {
    return this.#ask((client) => client.getBuffer(key));
  }

  async set(key: string, value: Uint8Array | string, { expiresMs }: { expiresMs: number }): Promise<void> {
    await this.#ask((client) => client.set(key, value, 'PX', expiresMs));
  }

  async del(...keys: string[]): Promise<void> {
    await this.#ask((client) => client.del(...keys));
  }

  async ping(): Promise<void> {
    await this.#ask((client) => client.ping());
  }

  onUp(handler: () => void): void {
    this.#upHandlers.push(handler);
  }

  onDown(handler: (why: string) => void): void {
    this.#downHandlers.push(handler);
  }

  async whenUp(timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    while (!this.isUp && performance.now() < deadline && !this.#isClosed) await Bun.sleep(5);
    return this.isUp;
  }

  close(): void {
    this.#isClosed = true;
    this.#probing.stop();
    this.#stopTicking();
    this.#server = null;
    this.#client?.close();
    this.#client = null;
  }

  async #ask<Answer>(send: (client: RedisClient) => Promise<Answer>): Promise<Answer> {
    const client = this.#client;
    if (!client || !this.#server) throw new RedisUnavailable('Redis is not connected');
    return this.#awaitAnswer(client, send);
  }

  async #awaitAnswer<Answer>(client: RedisClient, send: (client: RedisClient) => Promise<Answer>): Promise<Answer> {
    this.#owed++;
    this.#startTicking();
    try {
      return await send(client);
    } catch (error) {
      if (isRefusal(error)) throw error;
      this.#lose(client, 'the connection broke');
      throw new RedisUnavailable('Redis did not answer');
    } finally {
      if (client === this.#client) {
        this.#owed--;
        this.#silentTicks = 0;
        // Under load the next command would start it again at once.
        if (isQuiet() && this.#owed === 0 && this.#server) this.#stopTicking();
      }
    }
  }

  #startTicking() {
    this.#ticker ??= setInterval(() => this.#tick(), TICK_MS).unref();
  }

  #stopTicking() {
    if (this.#ticker) clearInterval(this.#ticker);
    this.#ticker = null;
  }

  /**
   * Time is counted in ticks of this process: one that was itself blocked for seconds has given the answers no chance
   * to be read, and must not blame Redis.
   */
  #tick() {
    const client = this.#client;
    if (!client) {
      if (performance.now() >= this.#retryAt) void this.#connect();
      return;
    }
    this.#silentTicks = this.#owed > 0 ? this.#silentTicks + 1 : 0;
    if (this.#silentTicks * TICK_MS > this.#answerMs) return this.#lose(client, 'it did not answer in time');
    if (this.#owed === 0 && this.#server) this.#stopTicking();
  }

  async #probe(client: RedisClient) {
    try {
      await this.#awaitAnswer(client, () => client.set(PROBE_KEY, '1', 'PX', 60_000));
    } catch (error) {
      if (isRefusal(error)) this.#lose(client, `it refuses writes (${firstWord(error)})`);
    }
  }

  async #connect() {
    const client = new RedisClient(this.#url, {
      autoReconnect: false,
      enableOfflineQueue: false,
      connectionTimeout: this.#answerMs,
    });
    this.#client = client;
    this.#startTicking();
    this.#owed = 0;
    this.#silentTicks = 0;
    client.onclose = () => this.#lose(client, 'the connection closed');
    try {
      await client.connect();
      const about = String(await this.#awaitAnswer(client, () => client.send('INFO', [])));
      await this.#awaitAnswer(client, () => client.set(PROBE_KEY, '1', 'PX', 60_000));
      for (const { text } of scripts) await this.#awaitAnswer(client, () => client.send('SCRIPT', ['LOAD', text]));
      if (client === this.#client) this.#up(about);
    } catch {
      this.#lose(client, 'it does not take commands');
    }
  }

  #up(about: string) {
    const fact = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(about)?.[1] ?? '';
    const evicts = fact('maxmemory') !== '0' && fact('maxmemory_policy') !== 'noeviction';
    this.#server = { runId: fact('run_id'), evicts };
    this.#retryMs = TICK_MS;
    for (const handler of this.#upHandlers) handler();
  }

  #lose(client: RedisClient, why: string) {
    if (client !== this.#client) return;
    const wasUp = this.isUp;
    this.#client = null;
    this.#server = null;
    this.#retryAt = performance.now() + this.#retryMs;
    this.#retryMs = Math.min(this.#retryMs * 2, SLOWEST_RETRY_MS);
    client.close();
    if (!this.#isClosed) this.#startTicking();
    if (wasUp) for (const handler of this.#downHandlers) handler(why);
  }
}

/** Redis answered, and the answer was an error. */
const isRefusal = (error: unknown): error is Error =>
  (error as { code?: unknown } | null)?.code === 'ERR_REDIS_SERVER_ERROR';

const firstWord = (error: Error) => /^[A-Z]+/.exec(error.message)?.[0] ?? 'an error';
