import { GatewayError } from '../../core/errors.ts';
import type { Principal } from '../../core/principal.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import type { Db } from '../../storage/store.ts';
import { isStoreAway, patiently } from '../../work/patiently.ts';
import { type Lease, LeaseLost, ShuttingDown, WorkCancelled } from '../../work/work.ts';
import { eventsIn } from '../hosted/events.ts';
import { failureOf, type ResponseFailure } from '../hosted/failure.ts';
import { HostedLoop, type LoopState, RoundFailed } from '../hosted/loop.ts';
import type { BackgroundDeps } from './background.ts';
import { type Ending, endResponse, IN_PROGRESS } from './ending.ts';
import type { BackgroundRequest } from './request.ts';
import { Retold } from './retold.ts';
import { changeWork, everyEventAfter, insertEvents, type NumberedEvent, workOf } from './rows.ts';

/** What was told is written down as often, for those who listen. */
const TELL_MS = 100;
const LAST = /^response\.(completed|incomplete|failed)$/;
const ROUTE = '/v1/responses';

/** What a node finds when it takes a response up. */
interface Begun {
  readonly caller: { readonly api_key_id: string; readonly workspace_id: string };
  readonly request: BackgroundRequest;
  readonly proofs: string | null;
  readonly state: LoopState | null;
  readonly createdAt: number;
  readonly keepsEvents: boolean;
  /** What was told since the state was written, by a process that died. */
  readonly told: readonly NumberedEvent[];
  readonly sequence: number;
}

/** One stay of a response with one node: from its lease to its end, or to the loss of the lease. */
export class BackgroundExecution {
  readonly #lease: Lease;
  readonly #deps: BackgroundDeps;
  readonly #id: string;
  readonly #untold: NumberedEvent[] = [];
  #begun!: Begun;
  #retold = new Retold([]);
  #sequence = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(lease: Lease, deps: BackgroundDeps) {
    this.#lease = lease;
    this.#deps = deps;
    this.#id = lease.work.ref;
  }

  async carryOut(): Promise<void> {
    try {
      const begun = await patiently(this.#lease.signal, () => this.#lease.transaction((db) => this.#begin(db)));
      if (!begun) return;
      this.#begun = begun;
      this.#sequence = begun.sequence;
      this.#retold = new Retold(begun.told);
      await this.#play(await this.#whoAsks());
    } catch (error) {
      await this.#endBy(error);
    } finally {
      clearTimeout(this.#timer);
    }
  }

  /** Finds out where the response stands, whichever node had it before. */
  async #begin(db: Db): Promise<Begun | null> {
    const { responses, sealer } = this.#deps;
    const work = await workOf(db, this.#id);
    const response = work && (await responses.bodyOf(db, this.#id));
    if (!work || !response || work.ended_at !== null) {
      await this.#lease.done(db);
      return null;
    }
    const isFirst = response.status === 'queued';
    const keepsEvents = work.keeps_events === 1;
    const told = keepsEvents ? await everyEventAfter(db, this.#id, work.state_sequence) : [];
    let sequence = (told.at(-1)?.sequence_number ?? work.state_sequence) + 1;
    if (isFirst) {
      const shown = { ...response, status: IN_PROGRESS };
      await responses.change(db, this.#id, shown);
      await changeWork(db, this.#id, { state_sequence: sequence });
      const event = { type: 'response.in_progress', sequence_number: sequence++, response: { ...shown, output: [] } };
      if (keepsEvents) await this.#tell(db, [event]);
    }
    return {
      caller: { api_key_id: work.api_key_id, workspace_id: work.workspace_id },
      request: JSON.parse(sealer.open('response', this.#id, work.request)),
      proofs: work.proofs,
      state: work.state === null ? null : JSON.parse(work.state),
      createdAt: Number(response.created_at),
      ...{ keepsEvents, told, sequence },
    };
  }

  /** As they are now: a caller that is gone or shut out has nothing made any more. */
  #whoAsks(): Promise<Principal> {
    const { signal } = this.#lease;
    return patiently(signal, () => this.#deps.principalOf(this.#begun.caller)).catch((error) => {
      throw error instanceof GatewayError && error.status === 401 ? new CallerIsGone() : error;
    });
  }

  async #play(who: Principal): Promise<void> {
    const { callModel, openAgain, proofs, newItemId } = this.#deps;
    const { request, state, createdAt } = this.#begun;
    const { signal } = this.#lease;
    const proven = proofs.open(this.#id, this.#begun.proofs);
    const said = async () => [...request.earlier, ...itemsIn(request.body.input), ...(state?.output ?? [])];
    const opened = await patiently(signal, () =>
      openAgain(request, {
        ...{ who, whoNow: () => this.#whoAsks(), proven, signal, said },
        ...{ responseId: this.#id, headers: request.headers },
      }),
    );
    let whole: (JsonObject & { readonly id: string }) | null = null;
    const loop = new HostedLoop(
      opened,
      {
        id: this.#id,
        earlier: request.earlier,
        createdAt,
        ask: async (round) =>
          callModel()({
            who: await this.#whoAsks(),
            path: '/responses',
            body: JSON.stringify(round),
            headers: request.headers,
            signal,
            ...(request.traceId !== undefined && { traceId: request.traceId }),
            proven,
            isRound: true,
            route: ROUTE,
          }),
        events: eventsIn,
        keep: async (response) => {
          whole = response;
        },
        newItemId,
        reached: (reached) => this.#reached(reached),
        known: this.#retold.known,
      },
      state ?? undefined,
    );
    try {
      for await (const event of loop.goOn()) {
        signal.throwIfAborted();
        if (LAST.test(String(event.type))) await this.#end(event, whole ?? (event.response as JsonObject));
        else this.#say(event);
      }
    } finally {
      for (const close of opened.closes) await close();
    }
  }

  #say(event: JsonObject): void {
    if (!this.#begun.keepsEvents) return;
    const heard = this.#retold.pass(event);
    if (!heard) return;
    this.#untold.push({ ...heard, sequence_number: this.#sequence++ });
    // What cannot be written now goes with the next step.
    this.#timer ??= setTimeout(() => this.#commit(async () => {}).catch(() => {}), TELL_MS);
  }

  /** A step is done: what another node would go on with. */
  async #reached(state: LoopState): Promise<void> {
    await this.#commit(async (db) => {
      await changeWork(db, this.#id, { state: JSON.stringify(state), state_sequence: this.#sequence - 1 });
      await this.#lease.checkpoint(db, null);
    });
    this.#retold.clear();
    this.#lease.signal.throwIfAborted();
    await this.#whoAsks();
  }

  /** One fenced transaction, with all that was told before it; one after the other. */
  #commit(step: (db: Db) => Promise<void>): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const written = this.#writing.then(() => {
      const told = this.#untold.length;
      return patiently(this.#lease.signal, () =>
        this.#lease.transaction(async (db) => {
          await step(db);
          await this.#tell(db, this.#untold.slice(0, told));
        }),
      ).then(() => {
        this.#untold.splice(0, told);
      });
    });
    this.#writing = written.catch(() => {});
    return written;
  }

  async #tell(db: Db, events: readonly NumberedEvent[]): Promise<void> {
    if (events.length === 0) return;
    await insertEvents(db, this.#id, events);
    await this.#deps.bus.announce(db, this.#id);
  }

  async #end(event: JsonObject, response: JsonObject): Promise<void> {
    const { responses, conversations, bus, now } = this.#deps;
    const { request, keepsEvents, caller } = this.#begun;
    if (keepsEvents) this.#untold.push({ ...event, sequence_number: this.#sequence++ });
    await this.#commit(async (db) => {
      await responses.end(db, this.#id, response);
      if (request.conversation !== null && response.status !== 'failed')
        await conversations.saidIn(db, caller.workspace_id, request.conversation, {
          ...{ input: request.body.input, output: response.output },
        });
      await changeWork(db, this.#id, { ended_at: now(), state: null, request: '', proofs: null });
      await bus.announce(db, this.#id);
      await this.#lease.done(db);
    });
  }

  /** What went wrong, or was asked for, decides how it ends; what only this node suffers is left to the next one. */
  async #endBy(error: unknown): Promise<void> {
    const { reason } = this.#lease.signal;
    if (error instanceof LeaseLost || reason instanceof LeaseLost || reason instanceof ShuttingDown) throw error;
    const ending = reason instanceof WorkCancelled ? { status: 'cancelled' as const } : await this.#endingBy(error);
    await this.#commit(async (db) => {
      await this.#tell(db, this.#untold.splice(0));
      await endResponse(db, this.#id, ending, this.#deps);
      await this.#lease.done(db);
    });
  }

  async #endingBy(error: unknown): Promise<Ending> {
    if (error instanceof CallerIsGone) return { status: 'failed', error: CALLER_IS_GONE };
    const isFinal = error instanceof RoundFailed || (error instanceof GatewayError && !isStoreAway(error));
    if (!isFinal) throw error;
    return { status: 'failed', error: await failureOf(error, this.#id, this.#deps.report) };
  }
}

class CallerIsGone extends Error {}

const CALLER_IS_GONE: ResponseFailure = {
  code: 'server_error',
  message: 'The API key, user or machine that asked for this response was removed or has expired.',
};

const itemsIn = (input: unknown): readonly unknown[] => (Array.isArray(input) ? input : []);
