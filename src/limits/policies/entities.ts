import { GatewayError } from '../../core/errors.ts';
import type { PageQuery } from '../../core/paging.ts';
import { sha256 } from '../../crypto/seal.ts';
import type { PolicyEntityRow } from '../../storage/schema.ts';
import type { Store } from '../../storage/store.ts';

const WRITE_AFTER_MS = 250;
const RETRY_AFTER_MS = 5_000;
const MOST_IN_A_WRITE = 500;
const MOST_WAITING = 10_000;
const MOST_KNOWN = 100_000;
/** Groups beyond this are counted like any other, but not listed: clients could invent values without end. */
const MOST_PER_POLICY = 100_000;

/** The same id on every node, because it follows from what it names. */
export function entityIdOf(policyId: string, valueKey: string): string {
  const hash = sha256(`${policyId} ${valueKey}`);
  // The form of a UUID of version 8, whose bits are free.
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-a${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}

/**
 * The groups of callers that usage policies have met, so that they can be listed and reset. Written in batches off the
 * path of calls. What is lost at a crash, or has no room, is met again with the group's next call.
 */
export function createPolicyEntities({ store, now }: { store: Store; now: () => number }) {
  const known = new Set<string>();
  const waiting = new Map<string, PolicyEntityRow>();
  const counts = new Map<string, number>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing: Promise<void> | null = null;

  const remember = (id: string) => {
    if (known.size >= MOST_KNOWN) known.clear();
    known.add(id);
  };

  const stored = (policyId: string) => store.db.selectFrom('policy_entities').where('policy_id', '=', policyId);
  const countOf = async (policyId: string): Promise<number> => {
    const { total } = await stored(policyId)
      .select((select) => select.fn.countAll<number>().as('total'))
      .executeTakeFirstOrThrow();
    return Number(total);
  };

  const hasRoom = async (policyId: string): Promise<boolean> => {
    const count = counts.get(policyId) ?? (await countOf(policyId));
    counts.set(policyId, count);
    return count < MOST_PER_POLICY;
  };

  const writeSome = async () => {
    const batch = [...waiting.values()].slice(0, MOST_IN_A_WRITE);
    const rows: PolicyEntityRow[] = [];
    for (const row of batch) if (await hasRoom(row.policy_id)) rows.push(row);
    if (rows.length > 0) {
      await store.db
        .insertInto('policy_entities')
        .values(rows)
        .onConflict((conflict) => conflict.columns(['policy_id', 'id']).doNothing())
        .execute();
    }
    for (const { policy_id } of rows) counts.set(policy_id, counts.get(policy_id)! + 1);
    for (const { id } of batch) {
      waiting.delete(id);
      remember(id);
    }
  };

  const flush = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    while (writing || waiting.size > 0) {
      writing ??= writeSome().finally(() => {
        writing = null;
      });
      await writing;
    }
  };

  const flushLater = (ms = WRITE_AFTER_MS) => {
    if (timer) return;
    timer = setTimeout(() => void flush().catch(tryAgain), ms);
    timer.unref();
  };
  const tryAgain = (error: unknown) => {
    if (error instanceof GatewayError && error.code === 'store_unavailable') flushLater(RETRY_AFTER_MS);
  };

  return {
    meet(policyId: string, valueKey: string): void {
      const id = entityIdOf(policyId, valueKey);
      if (known.has(id) || waiting.has(id) || waiting.size >= MOST_WAITING) return;
      waiting.set(id, { policy_id: policyId, id, value_key: valueKey, created_at: now() });
      flushLater();
    },
    /** Resolves when everything met so far is stored. */
    flush,

    async list(policyId: string, { current_page, page_size }: PageQuery): Promise<readonly PolicyEntityRow[]> {
      await flush();
      return stored(policyId)
        .selectAll()
        .orderBy('id')
        .limit(page_size)
        .offset(current_page * page_size)
        .execute();
    },

    async count(policyId: string): Promise<number> {
      await flush();
      return countOf(policyId);
    },

    async find(policyId: string, column: 'id' | 'value_key', value: string): Promise<PolicyEntityRow | undefined> {
      await flush();
      return stored(policyId).selectAll().where(column, '=', value).executeTakeFirst();
    },
  };
}

export type PolicyEntities = ReturnType<typeof createPolicyEntities>;
