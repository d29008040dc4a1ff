import type { Health } from '../core/health.ts';
import type { AuditHeadRow } from '../storage/schema.ts';
import type { ChainGuard } from './guard.ts';

/** A place outside of the database that is told the ends of the audit log. */
export interface HeadWitness {
  /** For operators, without secrets: `file`, `webhook`, `object store`, `redis`. */
  readonly name: string;
  /** Takes the latest ends. Throws when it cannot. */
  keep(heads: readonly AuditHeadRow[]): Promise<void>;
  /** The latest ends that it has been told, by whichever node; absent where a witness only listens. */
  heads?(): Promise<AuditHeadRow[]>;
  /** Whether another part of `/health` says when it is away. */
  readonly showsItself?: boolean;
}

/** A start does not wait longer for witnesses; those that answer later are heard later. */
const ASK_MS = 3_000;
/** A process that ends does not wait longer for the last word to arrive. */
const LAST_WORD_MS = 2_000;
/** Between two messages to a witness, and between two attempts. */
const EVERY_MS = 5_000;

interface WitnessingDeps {
  readonly witnesses: readonly HeadWitness[];
  readonly guard: Pick<ChainGuard, 'demand'>;
  readonly health: Pick<Health, 'degraded' | 'well'>;
}

/**
 * Tells witnesses the ends of the log, and demands what they know. A witness that is away holds up nothing: it shows in
 * `/health`, and gets the latest ends when it is back. What a witness knows is asked for before it is told anything, so
 * that a node without a memory of its own does not overwrite the proof that records are missing.
 */
export function startWitnessing({ witnesses, guard, health }: WitnessingDeps) {
  const away = new Set<string>();
  const show = (name: string, isAway: boolean) => {
    if (isAway) away.add(name);
    else away.delete(name);
    if (away.size === 0) health.well('audit-witness');
    else
      health.degraded(
        'audit-witness',
        `Ends of the audit log do not reach a witness (${[...away].join(', ')}); they are told again until they do.`,
      );
  };
  const told = witnesses.map((witness) => follow(witness, guard, witness.showsItself ? () => {} : show));
  return {
    /** Resolves when every witness has said what it knows, or has had its time. */
    asked: within(ASK_MS, Promise.all(told.map(({ ask }) => ask()))),
    keep: (heads: readonly AuditHeadRow[]) => {
      for (const { keep } of told) keep(heads);
    },
    stop: () => within(LAST_WORD_MS, Promise.all(told.map(({ stop }) => stop()))),
  };
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, ms);
  await Promise.race([work, late.promise]).finally(() => clearTimeout(timer));
}

const signatures = (heads: readonly AuditHeadRow[]) => heads.map(({ signature }) => signature).join();

function follow(witness: HeadWitness, guard: WitnessingDeps['guard'], show: (name: string, isAway: boolean) => void) {
  let hasSpoken = witness.heads === undefined;
  let latest: readonly AuditHeadRow[] = [];
  let known = '';
  let timer: ReturnType<typeof setTimeout> | undefined;
  let telling: Promise<void> | null = null;
  let isStopped = false;

  const isOwed = () => latest.length > 0 && signatures(latest) !== known;
  const ask = async () => {
    if (hasSpoken) return;
    try {
      for (const head of (await witness.heads?.()) ?? []) guard.demand(head);
      hasSpoken = true;
      show(witness.name, false);
    } catch {
      show(witness.name, true);
    }
  };
  const tell = async () => {
    if (!hasSpoken) {
      await ask();
      // What it has just said must be found in the store first: the guard looks, and then there is news again.
      if (hasSpoken) latest = [];
      return;
    }
    const heads = latest;
    try {
      await witness.keep(heads);
      known = signatures(heads);
      show(witness.name, false);
    } catch {
      show(witness.name, true);
    }
  };
  const start = () => {
    telling ??= tell().finally(() => {
      telling = null;
      if (isStopped) return;
      timer = setTimeout(() => {
        timer = undefined;
        if (isOwed()) start();
      }, EVERY_MS);
      timer.unref?.();
    });
  };

  return {
    ask,
    keep: (heads: readonly AuditHeadRow[]) => {
      latest = [...heads];
      if (timer === undefined && isOwed()) start();
    },
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await telling;
      if (isOwed()) await tell();
    },
  };
}
