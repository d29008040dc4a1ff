import { fail, GatewayError } from '../core/errors.ts';
import type { Health } from '../core/health.ts';
import type { Sealer } from '../crypto/seal.ts';
import type { AuditHeadRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import { isGenuine } from './chain.ts';
import { type Doubt, doubtAbout, headsIn, isHeadless } from './chain-doubt.ts';

const ALARM =
  'The audit log lacks what this node has seen of it: administrators cannot change anything until an operator has looked (gateway audit verify) and decided (gateway audit restart).';
const MISSING_TABLE = /no such table|relation .* does not exist/;

export interface GuardOptions {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly health: Pick<Health, 'degraded' | 'well'>;
  /** Ends that were kept from earlier: each must be found again. */
  readonly kept: readonly AuditHeadRow[];
  /** Tells the operator, once, why changes are refused. */
  readonly report?: (why: string) => void;
}

/**
 * Holds the ends of the audit log that this node has seen, and refuses changes while the store has a log without them. An
 * intruder who has the database can delete the log there, and cannot make this node forget it.
 */
export class ChainGuard {
  readonly #store: Store;
  readonly #sealer: Sealer;
  readonly #health: GuardOptions['health'];
  readonly #report: (why: string) => void;
  /** What must still be found: by organisation what this node saw last, and whatever witnesses tell. */
  readonly #seen = new Map<string, AuditHeadRow>();
  #told: AuditHeadRow[];
  #doubt: Doubt = null;

  constructor({ store, sealer, health, kept, report = reportToOperator }: GuardOptions) {
    this.#store = store;
    this.#sealer = sealer;
    this.#health = health;
    this.#report = report;
    this.#told = [...kept];
  }

  /** The latest end that this node has seen of a chain and found whole. */
  seen(organisationId: string): AuditHeadRow | undefined {
    return this.#seen.get(organisationId);
  }

  get heads(): AuditHeadRow[] {
    return [...this.#seen.values()];
  }

  get isQuiet(): boolean {
    return this.#doubt === null;
  }

  /** This node has just committed the end of a chain. */
  grown(head: AuditHeadRow): void {
    this.#seen.set(head.organisation_id, head);
  }

  /** An end that was kept elsewhere: from now on it must be found. */
  demand(head: AuditHeadRow): void {
    if (isGenuine(this.#sealer, head)) this.#told.push(head);
  }

  /** Compares the store with everything that was seen. Throws only when the store is away. */
  async look(): Promise<void> {
    try {
      const heads = await headsIn(this.#store.db);
      const demanded = [...this.#seen.values(), ...this.#told];
      let doubt: Doubt = null;
      for (const kept of demanded)
        doubt ??= await doubtAbout(kept, { db: this.#store.db, sealer: this.#sealer, heads });
      if (!heads.every((head) => isGenuine(this.#sealer, head))) doubt ??= 'the end of the audit log was altered';
      if (await isHeadless(this.#store.db)) doubt ??= 'the end of the audit log is gone';
      if (doubt === null) {
        this.#seen.clear();
        for (const head of heads) this.#seen.set(head.organisation_id, head);
        this.#told = this.#told.filter((told) => !demanded.includes(told));
      }
      this.#conclude(doubt);
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      if (!MISSING_TABLE.test(String(error))) throw error;
      this.#conclude('tables of the audit log are missing');
    }
  }

  #conclude(doubt: Doubt) {
    if (doubt !== null && doubt !== this.#doubt) this.#report(doubt);
    this.#doubt = doubt;
    if (doubt === null) this.#health.well('audit-seal');
    else this.#health.degraded('audit-seal', ALARM);
  }

  /** Throws while the log is in doubt. */
  refuseInDoubt(): void {
    if (this.#doubt !== null) fail('audit_log_in_doubt');
  }

  /** The same inside a change's own transaction: what was deleted a moment ago is missed before the change is made. */
  async refuseWithout(db: Db, organisationId: string): Promise<void> {
    this.refuseInDoubt();
    const seen = this.#seen.get(organisationId);
    if (!seen) return;
    const head = await db
      .selectFrom('audit_heads')
      .select(['number', 'seal'])
      .where('organisation_id', '=', organisationId)
      .executeTakeFirst();
    const isBehind = !head || Number(head.number) < Number(seen.number);
    const isAnother = Number(head?.number) === Number(seen.number) && head?.seal !== seen.seal;
    if (isBehind || isAnother) fail('audit_log_in_doubt');
  }
}

const reportToOperator = (why: string) =>
  void process.stderr.write(
    `The audit log is in doubt: ${why}. Changes are refused; see "gateway audit verify" and "gateway audit restart".\n`,
  );
