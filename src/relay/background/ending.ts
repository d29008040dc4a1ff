import type { JsonObject } from '../../dialects/ir.ts';
import { shownItem } from '../../dialects/responses/hosted-items.ts';
import type { Db } from '../../storage/store.ts';
import type { ResponseFailure } from '../hosted/failure.ts';
import type { LoopState } from '../hosted/loop.ts';
import type { ResponseKeeper } from '../kept-response.ts';
import type { ResponseBus } from './bus.ts';
import { changeWork, insertEvents, workOf } from './rows.ts';

export const IN_PROGRESS = 'in_progress';

/** How a response ends that does not come to its end. */
export type Ending = { readonly status: 'cancelled' } | { readonly status: 'failed'; readonly error: ResponseFailure };

export interface EndingDeps {
  readonly responses: Pick<ResponseKeeper, 'bodyOf' | 'end'>;
  readonly bus: ResponseBus;
  readonly now: () => number;
}

const NOTHING: ReadonlySet<string> = new Set();

/** Ends it with what was reached, whichever node it was with. One that is over stays as it is. */
export async function endResponse(db: Db, id: string, ending: Ending, deps: EndingDeps): Promise<void> {
  const work = await workOf(db, id);
  const body = work && (await deps.responses.bodyOf(db, id));
  if (!work || !body || work.ended_at !== null) return;
  const state: LoopState | null = work.state === null ? null : JSON.parse(work.state);
  const output = (state?.output ?? []).filter((item): item is JsonObject => item !== null);
  const response: JsonObject = { ...body, ...ending, ...(state?.usage && { usage: state.usage }), output };
  await deps.responses.end(db, id, response);
  if (work.keeps_events === 1) {
    const { last } = await db
      .selectFrom('response_events')
      .select(({ fn }) => fn.max('sequence').as('last'))
      .where('response_id', '=', id)
      .executeTakeFirstOrThrow();
    const shown = { ...response, output: output.map((item) => shownItem(item, NOTHING)) };
    const event = { type: `response.${ending.status}`, sequence_number: Number(last ?? -1) + 1, response: shown };
    await insertEvents(db, id, [event]);
  }
  await changeWork(db, id, { ended_at: deps.now(), state: null, request: '', proofs: null });
  await deps.bus.announce(db, id);
}
