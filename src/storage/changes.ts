import { sql } from 'kysely';
import type { Health } from '../core/health.ts';
import type { Witnessed } from '../core/principal.ts';
import { isQuiet, onWakeUp, RARELY_SECONDS, wholeSecond } from '../core/runtime/seconds.ts';
import { Listener } from './changes-listener.ts';
import type { Engine } from './migrate.ts';
import { lockName } from './name-lock.ts';
import type { Db, Store } from './store.ts';

/** What nodes keep in memory and must forget when another node changes it. */
export const TOPICS = [
  'users',
  'configs',
  'guardrails',
  'mcp-servers',
  'mcp-tokens',
  'policies',
  'keys',
  'prices',
] as const;
export type Topic = (typeof TOPICS)[number];

/**
 * How nodes that share a store learn of each other's changes: the version of a topic grows in the transaction of the
 * change, PostgreSQL notifies every listening node when it commits, and each node compares versions now and then, in
 * case a notification got lost.
 *
 *     await changes.transaction('keys', (db) => db.deleteFrom('api_keys').where('id', '=', id).execute());
 *     const cache = cachedBy(changes, ['keys'], (id) => find(store.db, id), { most: 1_000, now });
 */
export interface Changes {
  /**
   * To be called inside the transaction of a change, as its last statement: others that change the topic wait for it.
   * This node learns of it like the others, soon after the transaction has ended; with `catchUp`, at once.
   */
  announce(db: Db, topic: Topic): Promise<void>;
  /** Learns of every change that was made until now: subscribers of this node have run when it resolves. */
  catchUp(): Promise<void>;
  /**
   * One transaction that is announced; this node's own subscribers have run when it resolves. Recorded like any other
   * when it is given whose change it is.
   */
  transaction<Result>(topic: Topic, work: (db: Db) => Promise<Result>, who?: Witnessed): Promise<Result>;
  /** Calls `handler` after each change of the topic, on this node or another. Answers how to end that. */
  subscribe(topic: Topic, handler: () => void): () => void;
  /** Sends a short text to every node when the transaction of `db` commits. It may get lost: for waking up, not for facts. */
  notify(db: Db, channel: string, payload: string): Promise<void>;
  /** Receives what `notify` sends; null after a time in which texts may have been missed. Answers how to end that. */
  onNotify(channel: string, handler: (payload: string | null) => void): () => void;
  start(): Promise<void>;
  close(): Promise<void>;
}

export interface ChangesOptions {
  readonly store: Store;
  /** Null: the embedded store, which one process has for itself. */
  readonly databaseUrl: string | null;
  readonly health: Health;
  readonly pollMs?: number;
}

const CHANNEL = 'gateway_changes';
/** Also where notifications are lost, what was taken from a user or a key is gone on every node within a second. */
const POLL_MS = 500;
/** While no caller asks anything of a node. The first request after that waits until it has compared. */
const QUIET_POLL_MS = RARELY_SECONDS * 1_000;
const POLLING = 'Changes made on other nodes are noticed by asking twice a second instead of at once.';

class Handlers<Argument> {
  readonly #sets = new Map<string, Set<(argument: Argument) => void>>();

  add(name: string, handler: (argument: Argument) => void): () => void {
    const set = this.#sets.get(name) ?? new Set();
    this.#sets.set(name, set.add(handler));
    return () => void set.delete(handler);
  }

  call(name: string, argument: Argument) {
    for (const handler of this.#sets.get(name) ?? []) handler(argument);
  }

  get names(): Iterable<string> {
    return this.#sets.keys();
  }
}

export function createChanges({ store, databaseUrl, health, pollMs = POLL_MS }: ChangesOptions): Changes {
  const subscribers = new Handlers<void>();
  const receivers = new Handlers<string | null>();
  const versions = new Map<string, number>();
  let comparing: Promise<void> = Promise.resolve();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isClosed = false;

  const learn = (topic: string, version: number) => {
    if (versions.get(topic) === version) return;
    versions.set(topic, version);
    subscribers.call(topic);
  };

  const listener = databaseUrl
    ? new Listener({
        databaseUrl,
        onNotification: (channel, payload) => {
          if (channel !== CHANNEL) return receivers.call(channel, payload);
          const [topic = '', version] = payload.split(' ');
          learn(topic, Number(version));
        },
        onListening: () => {
          health.well('notify');
          void compare();
          for (const channel of receivers.names) receivers.call(channel, null);
        },
        onLost: () => health.degraded('notify', POLLING),
      })
    : null;
  listener?.listen(CHANNEL);

  const readVersions = async (): Promise<{ topic: string; version: number | string }[]> => {
    if (listener?.isListening) {
      try {
        return await listener.query('select topic, version from versions');
      } catch {
        // The listener sees to itself; the store may well be there.
      }
    }
    return store.db.selectFrom('versions').selectAll().execute();
  };

  /** One after the other, so that an older answer never comes after a newer one. */
  const compare = (): Promise<void> => {
    comparing = comparing.then(async () => {
      try {
        for (const { topic, version } of await readVersions()) learn(topic, Number(version));
      } catch {
        // While the store is away nothing can be changed through it either.
      }
    });
    return comparing;
  };

  const pollAgain = () => {
    clearTimeout(timer);
    if (isClosed) return;
    const now = performance.now();
    const nextMs = isQuiet() ? wholeSecond(now + QUIET_POLL_MS, QUIET_POLL_MS) - now : pollMs;
    timer = setTimeout(() => void compare().then(pollAgain), nextMs);
    timer.unref?.();
  };
  let stopWaking = () => {};

  return {
    announce: async (db, topic) => {
      await announceChange(db, store.engine, topic);
      // The embedded store has one connection: this question waits for the transaction and sees what became of it.
      if (!listener) setTimeout(() => void compare(), 0);
    },
    catchUp: () => compare(),
    transaction: async (topic, work, who) => {
      const [result, version] = await store.transaction(async (db) => {
        await lockTopic(db, store, topic);
        const outcome = await work(db);
        return [outcome, await announceChange(db, store.engine, topic)] as const;
      }, who);
      learn(topic, version);
      return result;
    },
    subscribe: (topic, handler) => subscribers.add(topic, handler),
    notify: async (db, channel, payload) => {
      if (listener) await sql`select pg_notify(${channel}, ${payload})`.execute(db);
      else setTimeout(() => receivers.call(channel, payload), 0);
    },
    onNotify: (channel, handler) => {
      listener?.listen(channel);
      return receivers.add(channel, handler);
    },
    start: async () => {
      await compare();
      if (!listener) return;
      health.degraded('notify', POLLING);
      await listener.connect();
      pollAgain();
      stopWaking = onWakeUp(() => compare().then(pollAgain));
    },
    close: async () => {
      isClosed = true;
      stopWaking();
      clearTimeout(timer);
      await listener?.close();
      await comparing;
    },
  };
}

/**
 * What is read to be changed stays as it was read until the transaction ends. A transaction takes this lock before
 * every other lock, so that two transactions never wait for each other.
 */
export const lockTopic = (db: Db, store: Pick<Store, 'engine'>, topic: Topic): Promise<void> =>
  lockName(db, store, `changes of ${topic}`);

/** The same as `announce`, for a process without subscribers, such as a command. Answers the new version. */
export async function announceChange(db: Db, engine: Engine, topic: Topic): Promise<number> {
  const { version } = await db
    .insertInto('versions')
    .values({ topic, version: 1 })
    .onConflict((conflict) =>
      conflict.column('topic').doUpdateSet((set) => ({ version: set('versions.version', '+', 1) })),
    )
    .returning('version')
    .executeTakeFirstOrThrow();
  if (engine === 'postgres') await sql`select pg_notify(${CHANNEL}, ${`${topic} ${version}`})`.execute(db);
  return Number(version);
}
