import type { Reservation, Settlement, Verdict } from '../counters/counters.ts';
import { finiteEnd } from '../counters/posting.ts';
import { endOf, holdOf, recordOf } from './redis-hold.ts';

export interface RedisVerdict {
  readonly verdict: Verdict;
  /** Whether there are holds whose time is over. */
  readonly isDue: boolean;
}

/**
 * What calls ask of Redis in one turn of the event loop, as one command: a command of its own for each would cost the
 * gateway several times as much. Settlements come first, because a call that ended makes room for the next one.
 */
export interface RedisGroups {
  reserve(epoch: string, reservation: Reservation, holdMs: number): Promise<RedisVerdict>;
  settle(epoch: string, settlement: Settlement): Promise<void>;
  /** Sends what is gathered, so that a command that is sent next comes after it. */
  send(): void;
}

/** Runs the script `APPLY` in an epoch with what follows the epoch and the prefix. */
type Apply = (epoch: string, args: string[]) => Promise<number[]>;

interface Waiting {
  readonly reservation: Reservation;
  readonly holdMs: number;
  readonly resolve: (verdict: RedisVerdict) => void;
  readonly reject: (error: unknown) => void;
}

interface Group {
  readonly epoch: string;
  readonly settlements: Settlement[];
  readonly waiting: Waiting[];
  /** For settlements; without any, no code would hear of a failure. */
  answered: PromiseWithResolvers<void> | null;
}

/** Redis does nothing else while it runs a script. */
const MOST_AT_ONCE = 200;

export function createRedisGroups(apply: Apply): RedisGroups {
  let group: Group | null = null;
  let timer: NodeJS.Immediate | null = null;

  const send = () => {
    if (timer) clearImmediate(timer);
    timer = null;
    if (group) void run(group);
    group = null;
  };
  const groupOf = (epoch: string): Group => {
    if (group && (group.epoch !== epoch || group.settlements.length + group.waiting.length >= MOST_AT_ONCE)) send();
    group ??= { epoch, settlements: [], waiting: [], answered: null };
    timer ??= setImmediate(send);
    return group;
  };
  /** Never throws. */
  const run = async ({ epoch, settlements, waiting, answered }: Group) => {
    try {
      const sums = await apply(epoch, argumentsOf(settlements, waiting));
      answered?.resolve();
      tell(waiting, sums);
    } catch (error) {
      answered?.reject(error);
      for (const { reject } of waiting) reject(error);
    }
  };

  return {
    reserve: (epoch, reservation, holdMs) => {
      const { waiting } = groupOf(epoch);
      return new Promise((resolve, reject) => waiting.push({ reservation, holdMs, resolve, reject }));
    },
    settle: (epoch, settlement) => {
      const gathered = groupOf(epoch);
      gathered.settlements.push(settlement);
      gathered.answered ??= Promise.withResolvers();
      return gathered.answered.promise;
    },
    send,
  };
}

/** Counters are named once, and then by their places in the list. */
function argumentsOf(settlements: readonly Settlement[], waiting: readonly Waiting[]): string[] {
  const places = new Map<string, string>();
  const named: string[] = [];
  const placeOf = ({ counter, endsAt }: { readonly counter: string; readonly endsAt: number }) => {
    let place = places.get(counter);
    if (place === undefined) {
      place = String(places.size + 1);
      places.set(counter, place);
      named.push(counter, endOf(finiteEnd(endsAt)));
    }
    return place;
  };
  const asked: string[] = [String(settlements.length)];
  for (const { id, charges } of settlements) {
    asked.push(id, String(charges.length));
    for (const charge of charges) asked.push(placeOf(charge), String(charge.held), String(charge.actual));
  }
  for (const { reservation, holdMs } of waiting) {
    const { id, charges } = reservation;
    asked.push(id, String(holdMs), recordOf(holdOf(reservation)), String(charges.length));
    for (const charge of charges) asked.push(placeOf(charge), String(charge.max), String(charge.amount));
  }
  return [String(places.size), ...named, ...asked];
}

/** The answer: whether holds are due, and for each reservation whether it is admitted and the sums of its charges. */
function tell(waiting: readonly Waiting[], answer: readonly number[]) {
  const isDue = answer[0]! > 0;
  let at = 1;
  for (const { reservation, resolve } of waiting) {
    resolve({ verdict: verdictOf(reservation, answer, at), isDue });
    at += 1 + 2 * reservation.charges.length;
  }
}

function verdictOf({ charges }: Reservation, answer: readonly number[], at: number): Verdict {
  const used = charges.map((_, index) => answer[at + 1 + 2 * index]!);
  const levels = charges.map((_, index) => answer[at + 2 + 2 * index]!);
  if (answer[at] === 1) return { admitted: true, used, levels };
  const refused = charges.flatMap(({ amount, max }, index) =>
    levels[index]! + Math.max(amount, 1) > max ? [index] : [],
  );
  return { admitted: false, refused, used, levels };
}
