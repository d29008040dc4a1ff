import type { Charge, LedgerEntry } from '../counters/counters.ts';
import { finiteEnd, type Posted } from '../counters/posting.ts';
import { Journal, recordOf } from './journal.ts';

/** What one counter holds for a call. */
export type Held = Pick<Charge, 'counter' | 'amount' | 'endsAt'>;

/** A call under way, as it stands in memory and in the journal. */
export interface Hold {
  readonly estimate: LedgerEntry;
  readonly charges: readonly Held[];
  endsAt: number;
}

interface WholeRecord {
  /** Others point at it by this number. Left out by earlier versions, and then its place in the segment. */
  readonly place?: number;
  readonly estimate: LedgerEntry;
  readonly charges: readonly Posted[];
  readonly endsAt: number;
}

/** What a hold does not share with the one of that `place` in its segment. */
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

/** Some 10,000 holds. A shorter journal does not start again. */
const LONG_FROM = 1 << 20;

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
  #longFrom = LONG_FROM;

  constructor(folder: string) {
    this.#journal = new Journal({ folder, processId: process.pid, isShared: false });
  }

  /** Whether it should start again with the holds that are still open. It can be appended to all the same. */
  get isLong(): boolean {
    return this.#journal.size > this.#longFrom;
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
    // The next append begins another segment, and in that no earlier hold can be pointed at.
    if (this.#journal.size === 0) this.#beginAt(0);
    const example = this.#exampleFor(hold);
    this.#journal.append(recordOf(example ? briefly(hold, example) : wholly(hold, this.#records)));
    if (!example) this.#learn(hold);
    this.#records++;
  }

  /** Begins again with these. */
  startWith(holds: readonly Hold[]): void {
    const before = this.#journal.startWith(holds.map((hold, place) => recordOf(wholly(hold, place))).join(''));
    this.#beginAt(holds.length);
    // Many open holds are not copied again before as many have come.
    this.#longFrom = Math.max(LONG_FROM, 2 * this.#journal.size);
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

const wholly = ({ estimate, charges, endsAt }: Hold, place: number): WholeRecord => ({
  place,
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

/** A hold that points at one that was lost with the power is lost with it. */
function holdsOf(records: readonly unknown[]): Hold[] {
  const byPlace = new Map<number, Hold>();
  const holds: Hold[] = [];
  (records as (WholeRecord | BriefRecord)[]).forEach((record, index) => {
    const hold = 'estimate' in record ? whole(record) : like(record, byPlace.get(record[0]));
    if (!hold) return;
    holds.push(hold);
    if ('estimate' in record) byPlace.set(record.place ?? index, hold);
  });
  return holds;
}

const whole = ({ estimate, charges, endsAt }: WholeRecord): Hold => ({
  estimate,
  charges: charges.map(([counter, amount, end]) => ({ counter, amount, endsAt: end ?? Number.POSITIVE_INFINITY })),
  endsAt,
});

function like(record: BriefRecord, example: Hold | undefined): Hold | null {
  if (!example) return null;
  const [, id, at, input_tokens, output_tokens, cost, endsAt, ...amounts] = record;
  const { estimate, charges } = example;
  return {
    estimate: { ...estimate, id, at, input_tokens, output_tokens, cost },
    charges: charges.map((charge, index) => ({ ...charge, amount: amounts[index]! })),
    endsAt,
  };
}
