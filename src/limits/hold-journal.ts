import type { Charge, LedgerEntry } from './counters.ts';
import { Journal, recordOf } from './journal.ts';
import { finiteEnd, type Posted } from './posting.ts';

/** What one counter holds for a call. */
export type Held = Pick<Charge, 'counter' | 'amount' | 'endsAt'>;

/** A call under way, as it stands in memory and in the journal. */
export interface Hold {
  readonly estimate: LedgerEntry;
  readonly charges: readonly Held[];
  endsAt: number;
}

interface WholeRecord {
  readonly estimate: LedgerEntry;
  readonly charges: readonly Posted[];
  readonly endsAt: number;
}

/** What a hold does not share with the one at `place` in its segment, counted from 0. */
type BriefRecord = readonly [
  place: number,
  id: string,
  at: number,
  inputTokens: number | null,
  outputTokens: number | null,
  cost: number | null,
  endsAt: number,
  ...amounts: number[],
];

interface Example {
  readonly place: number;
  readonly hold: Hold;
}

/** A key that calls more models than this in turns writes more whole records. */
const EXAMPLES_PER_KEY = 8;

/**
 * The journal of holds. Calls of one key for one model differ in little: a hold that is like an earlier one of its
 * segment says so, and says only what is its own, which takes a fifth of the bytes.
 */
export class HoldJournal {
  readonly #journal: Journal;
  readonly #examples = new Map<string, Example[]>();
  #records = 0;

  constructor(folder: string) {
    this.#journal = new Journal({ folder, processId: process.pid, isShared: false });
  }

  get size(): number {
    return this.#journal.size;
  }

  /** Holds that processes before this one have left, by the ids of their calls. */
  read(): Map<string, Hold> {
    const holds = new Map<string, Hold>();
    for (const name of this.#journal.finished())
      for (const hold of holdsOf(this.#journal.read(name))) holds.set(hold.estimate.id, hold);
    return holds;
  }

  /** Throws when it could not be written, and then nothing was. */
  append(hold: Hold): void {
    // A segment that could not be repaired was left, and what stood in it cannot be pointed at.
    if (this.#journal.size === 0) this.#beginAt(0);
    const example = this.#exampleFor(hold);
    this.#journal.append(recordOf(example ? briefly(hold, example) : wholly(hold)));
    if (!example) this.#learn(hold);
    this.#records++;
  }

  /** Begins again with these. */
  startWith(holds: readonly Hold[]): void {
    const before = this.#journal.startWith(holds.map((hold) => recordOf(wholly(hold))).join(''));
    this.#beginAt(holds.length);
    for (const name of before) this.#journal.remove(name);
  }

  finish(): void {
    this.#journal.finish();
  }

  #beginAt(records: number) {
    this.#examples.clear();
    this.#records = records;
  }

  #exampleFor(hold: Hold): Example | null {
    const known = this.#examples.get(hold.estimate.api_key_id);
    if (known)
      for (let index = 0; index < known.length; index++) if (isLike(hold, known[index]!.hold)) return known[index]!;
    return null;
  }

  #learn(hold: Hold) {
    const { api_key_id } = hold.estimate;
    const known = this.#examples.get(api_key_id) ?? [];
    if (known.length === 0) this.#examples.set(api_key_id, known);
    if (known.length === EXAMPLES_PER_KEY) known.shift();
    known.push({ place: this.#records, hold });
  }
}

function isLike({ estimate: one, charges }: Hold, { estimate: other, charges: others }: Hold): boolean {
  if (
    one.model !== other.model ||
    one.virtual_key !== other.virtual_key ||
    one.provider !== other.provider ||
    one.workspace_id !== other.workspace_id ||
    one.organisation_id !== other.organisation_id ||
    one.state !== other.state ||
    charges.length !== others.length
  )
    return false;
  for (let index = 0; index < charges.length; index++) {
    const [charge, like] = [charges[index]!, others[index]!];
    if (charge.counter !== like.counter || charge.endsAt !== like.endsAt) return false;
  }
  return true;
}

const wholly = ({ estimate, charges, endsAt }: Hold): WholeRecord => ({
  estimate,
  charges: charges.map(({ counter, amount, endsAt: end }) => [counter, amount, finiteEnd(end)]),
  endsAt,
});

function briefly({ estimate, charges, endsAt }: Hold, { place }: Example): BriefRecord {
  const { id, at, input_tokens, output_tokens, cost } = estimate;
  const record: [...BriefRecord] = [place, id, at, input_tokens, output_tokens, cost, endsAt];
  for (let index = 0; index < charges.length; index++) record.push(charges[index]!.amount);
  return record;
}

function holdsOf(records: readonly unknown[]): Hold[] {
  const holds: Hold[] = [];
  for (const record of records as (WholeRecord | BriefRecord)[])
    holds.push('estimate' in record ? whole(record) : like(record, holds));
  return holds;
}

const whole = ({ estimate, charges, endsAt }: WholeRecord): Hold => ({
  estimate,
  charges: charges.map(([counter, amount, end]) => ({ counter, amount, endsAt: end ?? Number.POSITIVE_INFINITY })),
  endsAt,
});

function like(record: BriefRecord, holds: readonly Hold[]): Hold {
  const [place, id, at, input_tokens, output_tokens, cost, endsAt, ...amounts] = record;
  const { estimate, charges } = holds[place]!;
  return {
    estimate: { ...estimate, id, at, input_tokens, output_tokens, cost },
    charges: charges.map((charge, index) => ({ ...charge, amount: amounts[index]! })),
    endsAt,
  };
}
