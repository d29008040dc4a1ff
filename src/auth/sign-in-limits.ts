import { GatewayError } from '../core/errors.ts';
import { sha256 } from '../crypto/seal.ts';
import type { Store } from '../storage/store.ts';

const PERIOD_MS = 15 * 60_000;

/** Guessing for one person from one place ends soon; nobody can lock a person out from elsewhere as easily. */
const MOST_FROM_ONE_FOR_ONE = 10;
const MOST_FROM_ONE = 100;
const MOST_FOR_ONE = 200;

/** Counts failed attempts to sign in, for all nodes together. */
export function createSignInLimits({ store, now }: { store: Store; now: () => number }) {
  const sources = (email: string, address: string): (readonly [string, number])[] => [
    [sha256(`both ${email} ${address}`), MOST_FROM_ONE_FOR_ONE],
    [sha256(`address ${address}`), MOST_FROM_ONE],
    [sha256(`email ${email}`), MOST_FOR_ONE],
  ];
  return {
    /** Throws 429 while there were too many failures. */
    async check(email: string, address: string): Promise<void> {
      const limits = new Map(sources(email, address));
      const rows = await store.db
        .selectFrom('sign_in_failures')
        .selectAll()
        .where('source', 'in', [...limits.keys()])
        .where('ends_at', '>', now())
        .execute();
      const reached = rows.find(({ source, failures }) => Number(failures) >= limits.get(source)!);
      if (!reached) return;
      const endsAt = Number(reached.ends_at);
      throw new GatewayError('too_many_sign_ins', [new Date(endsAt).toISOString()], {
        'retry-after': String(Math.ceil((endsAt - now()) / 1_000)),
      });
    },

    async failed(email: string, address: string): Promise<void> {
      const at = now();
      await store.transaction(async (db) => {
        await db.deleteFrom('sign_in_failures').where('ends_at', '<=', at).execute();
        for (const [source] of sources(email, address).sort(([a], [b]) => (a < b ? -1 : 1))) {
          await db
            .insertInto('sign_in_failures')
            .values({ source, failures: 1, ends_at: at + PERIOD_MS })
            .onConflict((conflict) =>
              conflict.column('source').doUpdateSet((set) => ({ failures: set('sign_in_failures.failures', '+', 1) })),
            )
            .execute();
        }
      });
    },
  };
}

export type SignInLimits = ReturnType<typeof createSignInLimits>;
