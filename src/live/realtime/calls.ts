import { fail } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { Principal } from '../../core/principal.ts';
import type { Sealer } from '../../crypto/seal.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import type { Line } from '../../http/socket.ts';
import type { Upstream } from '../../http/upstream.ts';
import type { ClientWebSocket } from '../../http/upstream-socket.ts';
import { type CallControl, hangUp, type PlacedCall } from '../../relay/realtime-call.ts';
import type { Store } from '../../storage/store.ts';
import { type Kind, type Lease, ShuttingDown } from '../../work/work.ts';
import type { Workers } from '../../work/workers.ts';
import { CallTalk } from './call-talk.ts';
import { RealtimeSession, type SessionDeps } from './session.ts';

export interface CallsDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly upstream: Upstream;
  readonly workers: () => Workers;
  readonly joinCall: (call: CallControl, protocols: readonly string[]) => Promise<ClientWebSocket | null>;
  /** Rows of work go with a workspace; a call is ended when its workspace has gone, so its row is the organisation's. */
  readonly organisationId: string;
  /** How many a node may have. */
  readonly most: number;
}

/** What a row of work says of a call. */
interface Recorded {
  /** Whose it is. */
  readonly key: string;
  /** Its session is a secret's. */
  readonly isBound: boolean;
  readonly isGuarded: boolean;
  /** A `CallControl`: with it, any node can end the call. */
  readonly sealed: string;
}

/** A call that this node watches. */
interface Watched {
  /** Resolves when the side channel is left: the provider is not heard any more. */
  readonly left: Promise<void>;
  /** Ends it: what is under way is cancelled, and counted as the provider says it. */
  end(): void;
  leave(): void;
  /** With a credential as it is now. */
  hangUp(): Promise<void>;
}

/** A call that a client of ours takes part in. */
export interface JoinedCall {
  readonly socket: ClientWebSocket;
  readonly isBound: boolean;
  readonly isGuarded: boolean;
}

const KIND = 'realtime-call';
/** Ends of calls that fail are tried again for about an hour; no provider lets a call last longer. */
const MOST_ATTEMPTS = 60;
/** How long the provider has to confirm the settings of a call. */
const BOUND_MS = 10_000;

/**
 * Calls whose sound goes past the gateway. Each is a row of leased work from before its client can speak until it is known to be
 * over. The node that holds the lease watches the call; a node that takes the row over, because the first one has died, ends it:
 * what was said meanwhile has been heard by no node.
 */
export function createCalls(deps: CallsDeps) {
  const { store, sealer, upstream, workers, organisationId, most } = deps;
  const watched = new Map<string, Watched>();

  const controlOf = (id: string, { sealed }: Recorded): CallControl =>
    JSON.parse(sealer.open('realtime-call', id, sealed)) as CallControl;

  const run = async (lease: Lease): Promise<void> => {
    const { ref, payload } = lease.work;
    const own = watched.get(ref);
    if (own) {
      const end = () => own.end();
      if (lease.signal.aborted) end();
      else lease.signal.addEventListener('abort', end, { once: true });
      await own.left;
      watched.delete(ref);
    }
    await (own ? own.hangUp() : hangUp(controlOf(ref, payload as Recorded), upstream));
    // A node that stops may still say that the call is over.
    if (lease.signal.aborted && !(lease.signal.reason instanceof ShuttingDown)) lease.signal.throwIfAborted();
    await lease.transaction((db) => lease.done(db));
  };

  const kind: Kind = {
    name: KIND,
    concurrency: most,
    maxAttempts: MOST_ATTEMPTS,
    backoff: { firstMs: 1_000, mostMs: 60_000 },
    run,
    failed: async () => {},
    cancelled: async () => {},
  };

  return {
    kind,

    /** Watches a call from now on, and answers its name. Throws where it cannot be watched; then it is ended. */
    async watch(
      who: Principal,
      placed: PlacedCall,
      talks: Omit<SessionDeps, 'parted'>,
      given: { isBound: boolean; opened: (session: RealtimeSession) => void },
    ): Promise<string> {
      const id = `rtc_${newId<string>().replaceAll('-', '')}`;
      const left = Promise.withResolvers<void>();
      let session: RealtimeSession | null = null;
      watched.set(id, {
        left: left.promise,
        end: () => (session ? session.closed() : left.resolve()),
        leave: () => session?.leave(),
        hangUp: () => placed.hangUp(),
      });
      try {
        await record(id, who, placed, given.isBound);
      } catch (error) {
        watched.delete(id);
        await placed.hangUp().catch(talks.report);
        throw error;
      }
      // From here on the work ends the call, whatever happens.
      try {
        const line = await placed.attach();
        let talk: CallTalk | null = null;
        const frozen: JsonObject | null = given.isBound ? placed.session : null;
        session = new RealtimeSession({ ...talks, parted: left.resolve }, line, (own) => {
          talk = new CallTalk(own, line, placed.session, frozen);
          return talk;
        });
        session.opened(noLine(session));
        if (frozen) await Promise.race([talk!.bound, notBound(left.promise)]);
        given.opened(session);
      } catch (error) {
        if (session) session.closed();
        else left.resolve();
        throw error;
      }
      return id;
    },

    /** One more side channel of a call of the key's. Throws 404 where it has none of that name. */
    async join(who: Principal, id: string, protocols: readonly string[]): Promise<JoinedCall> {
      const recorded = await recordOf(who, id);
      const { isBound, isGuarded } = recorded;
      const socket = await deps.joinCall(controlOf(id, recorded), protocols);
      return { socket: socket ?? fail('call_not_found', id.slice(0, 100)), isBound, isGuarded };
    },

    /** Ends a call of the key's. Throws 404 where it has none of that name. */
    async hangUp(who: Principal, id: string): Promise<void> {
      const recorded = await recordOf(who, id);
      const own = watched.get(id);
      own?.end();
      await own?.left;
      // Another node may watch it, which hears from the provider that it is over.
      await hangUp(controlOf(id, recorded), upstream);
    },

    /** The process stops: responses under way may end, then the calls do. */
    leave(): void {
      for (const each of watched.values()) each.leave();
    },
  };

  async function recordOf(who: Principal, id: string): Promise<Recorded> {
    const row = await store.db
      .selectFrom('work')
      .select('payload')
      .where('kind', '=', KIND)
      .where('ref', '=', id)
      .executeTakeFirst();
    const recorded = row?.payload ? (JSON.parse(row.payload) as Recorded) : null;
    return recorded?.key === who.keyId ? recorded : fail('call_not_found', id.slice(0, 100));
  }

  async function record(id: string, who: Principal, placed: PlacedCall, isBound: boolean): Promise<void> {
    const { control, isGuarded } = placed;
    const sealed = sealer.seal('realtime-call', id, JSON.stringify(control));
    const payload: Recorded = { key: who.keyId, isBound, isGuarded, sealed };
    const item = { kind: KIND, tenant: organisationId, ref: id, payload };
    const { isLocal } = await workers().accept(item, async () => {});
    if (!isLocal) fail('sockets_exhausted', most);
  }
}

export type Calls = ReturnType<typeof createCalls>;

/** In the place of a client's line: the client is not reached through the gateway. */
const noLine = (session: RealtimeSession): Line => {
  const close = () => queueMicrotask(() => session.closed());
  return { send: () => 'sent', close, cut: close };
};

async function notBound(left: Promise<void>): Promise<never> {
  await Promise.race([left, Bun.sleep(BOUND_MS)]);
  return fail('call_not_watched', 'The provider', 'its session was not confirmed');
}
