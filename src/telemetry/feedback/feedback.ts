import { fail } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { Metadata } from '../../core/metadata-rule.ts';
import { type Principal, reachesOrganisation } from '../../core/principal.ts';
import type { FeedbackRow } from '../../storage/schema.ts';
import type { Store } from '../../storage/store.ts';

export interface FeedbackInput {
  readonly trace_id: string;
  readonly value: number;
  readonly weight: number;
  readonly metadata: Metadata;
}

export type FeedbackChange = Partial<Omit<FeedbackInput, 'trace_id'>>;

const SWEPT_AT_ONCE = 1_000;

/** What people think of answers. The trace is not looked up: its entry may be written to the log later than this. */
export function createFeedback({ store, now }: { store: Store; now: () => number }) {
  return {
    /** All of them or none. Answers their ids, in the same order. */
    async create(who: Principal, inputs: readonly FeedbackInput[]): Promise<string[]> {
      refuseOrganisationKey(who);
      const at = now();
      const rows = inputs.map(
        ({ metadata, ...input }): FeedbackRow => ({
          id: newId<string>(),
          workspace_id: who.workspaceId,
          user_id: who.userId,
          api_key_id: who.keyId,
          ...input,
          metadata: JSON.stringify(metadata),
          created_at: at,
          updated_at: at,
        }),
      );
      await store.db.insertInto('feedbacks').values(rows).execute();
      return rows.map(({ id }) => id);
    },

    /** What is not given stays. */
    async update(who: Principal, id: string, { metadata, ...change }: FeedbackChange): Promise<void> {
      refuseOrganisationKey(who);
      const { numUpdatedRows } = await store.db
        .updateTable('feedbacks')
        .set({ ...change, ...(metadata && { metadata: JSON.stringify(metadata) }), updated_at: now() })
        .where('id', '=', id)
        .where('workspace_id', '=', who.workspaceId)
        .executeTakeFirstOrThrow();
      if (Number(numUpdatedRows) === 0) fail('feedback_not_found', id.slice(0, 80));
    },

    /** Removes what is older; says how much it was. */
    async sweep(before: number, signal?: AbortSignal): Promise<number> {
      let swept = 0;
      for (let gone = -1; gone !== 0 && !signal?.aborted; swept += gone) {
        const old = store.db.selectFrom('feedbacks').select('id').where('created_at', '<', before).limit(SWEPT_AT_ONCE);
        gone = (await store.db.deleteFrom('feedbacks').where('id', 'in', old).returning('id').execute()).length;
      }
      return swept;
    },
  };
}

export type Feedback = ReturnType<typeof createFeedback>;

/** A key of the whole organisation says nothing of a workspace; a person who signed in has chosen one. */
function refuseOrganisationKey(who: Principal) {
  if (reachesOrganisation(who) && !who.session) fail('feedback_needs_workspace_key');
}
