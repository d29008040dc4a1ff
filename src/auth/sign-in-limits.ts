import { GatewayError } from '../core/errors.ts';
import { sha256 } from '../crypto/seal.ts';
import type { Store } from '../storage/store.ts';

const PERIOD_MS = 15 * 60_000;

/**
 * Guesses for one user from one address are stopped early. Guesses for one user from all addresses are stopped late, so
 * that an attacker elsewhere cannot easily lock the user out.
 */
const MOST_FROM_ONE_FOR_ONE = 10;
const MOST_FROM_ONE = 100;
const MOST_FOR_ONE = 200;

/** Always in the same order, so that two transactions that count at the same time do not deadlock. */
const sourcesOf = (email: string, address: string): (readonly [string, number])[] =>
  (
    [
      [sha256(`both ${email} ${address}`), MOST_FROM_ONE_FOR_ONE],
      [sha256(`address ${address}`), MOST_FROM_ONE],
      [sha256(`email ${email}`), MOST_FOR_ONE],
    ] as const
  ).toSorted(([a], [b]) => (a < b ? -1 : 1));

const mostOf = (sources: readonly (readonly [string, number])[], source: string): number =>
  sources.find(([each]) => each === source)![1];

/**
 * Counts failed attempts to sign in, for all nodes together. An attempt counts as failed before it is made: a thousand at
 * once are not more than a thousand one after the other.
 */
export function createSignInLimits({ store, now }: { store: Store; now: () => number }) {
  const refuse = (endsAt: number): never => {
    throw new GatewayError('too_many_sign_ins', [new Date(endsAt).toISOString()], {
      'retry-after': String(Math.ceil((endsAt - now()) / 1_000)),
    });
  };
  return {
    /** Throws 429 after too many failures. */
    async begin(email: string, address: string): Promise<void> {
      const at = now();
      const sources = sourcesOf(email, address);
      // A client that is refused anyway leaves no rows for the names it makes up.
      const known = await store.db
        .selectFrom('sign_in_failures')
        .selectAll()
        .where(
          'source',
          'in',
          sources.map(([source]) => source),
        )
        .where('ends_at', '>', at)
        .execute();
      const used = known.filter(({ source, failures }) => Number(failures) > mostOf(sources, source));
      if (used.length > 0) refuse(Math.max(...used.map(({ ends_at }) => Number(ends_at))));
      const reached = await store.transaction(async (db) => {
        await db.deleteFrom('sign_in_failures').where('ends_at', '<=', at).execute();
        let latest: number | null = null;
        for (const [source, most] of sources) {
          const { failures, ends_at } = await db
            .insertInto('sign_in_failures')
            .values({ source, failures: 1, ends_at: at + PERIOD_MS })
            .onConflict((conflict) =>
              conflict.column('source').doUpdateSet((set) => ({ failures: set('sign_in_failures.failures', '+', 1) })),
            )
            .returning(['failures', 'ends_at'])
            .executeTakeFirstOrThrow();
          if (Number(failures) > most) latest = Math.max(latest ?? 0, Number(ends_at));
        }
        return latest;
      });
      if (reached !== null) refuse(reached);
    },

    /** It was the right password after all. */
    async succeeded(email: string, address: string): Promise<void> {
      await store.transaction(async (db) => {
        for (const [source] of sourcesOf(email, address)) {
          await db
            .updateTable('sign_in_failures')
            .set((set) => ({ failures: set('failures', '-', 1) }))
            .where('source', '=', source)
            .where('failures', '>', 0)
            .execute();
        }
      });
    },
  };
}

export type SignInLimits = ReturnType<typeof createSignInLimits>;
