import type { StoreView } from '../chaos/evidence.ts';
import type { ChaosNode } from '../chaos/node.ts';
import type { Collector } from '../collector.ts';
import {
  add,
  type Book,
  figuresBook,
  ledgersBook,
  logsBook,
  nothing,
  type Sums,
  scraped,
  simulatorsBook,
  spansBook,
  totalOf,
} from './books.ts';
import type { Planned } from './calls.ts';
import type { CountingSimulator } from './provider.ts';

/** One call that has ended. */
export interface Made {
  readonly call: Planned;
  /** Which of the processes it was sent to. */
  readonly life: number;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly hasFailed: boolean;
}

/** One process of the gateway, and what it had counted when it was last asked. */
export interface Life {
  sums: Sums;
  askedAt: number;
  /** Null: it lives. */
  readonly end: 'flow' | 'standstill' | null;
  readonly killedAt: number;
}

export const newLife = (): Life => ({ sums: nothing(), askedAt: 0, end: null, killedAt: Number.POSITIVE_INFINITY });

export interface Evidence {
  readonly node: ChaosNode;
  readonly store: StoreView;
  readonly simulator: CountingSimulator;
  readonly collector: Collector;
  readonly made: readonly Made[];
  /** Names of calls under way. */
  readonly open: ReadonlySet<string>;
  readonly lives: readonly Life[];
}

/** Calls that end so shortly after each other are not written in that order. */
const UNORDERED_MS = 1_000;
const TAKEN = ['attempts', 'input', 'output', 'cost'] as const;
const COUNTED = ['calls', 'errors', 'input', 'output', 'cost'] as const;

/** Holds all books against each other, call by call: one sentence for each thing on which two of them differ. */
export async function disagreements(evidence: Evidence): Promise<string[]> {
  const { node, store, simulator, collector, made } = evidence;
  const clients: Book = new Map();
  for (const { call, hasFailed } of made) add(clients, call.name, { calls: 1, errors: hasFailed ? 1 : 0 });
  const { shown, taken } = await logsBook(store);
  const { book: spans, doubled } = spansBook(collector.spans);
  const asked = simulatorsBook(simulator.arrivals);
  const kinds = new Map(made.map(({ call }) => [call.name, call.kind]));
  const named = (name: string) => `${name} (${kinds.get(name)})`;
  const findings = doubled.map((name) => `${named(name)}: a span came twice`);
  const hold = (what: readonly (keyof Sums)[], one: readonly [string, Book], other: readonly [string, Book]) => {
    const mayDiffer = mayBeMissing(other[1], evidence);
    for (const name of new Set([...one[1].keys(), ...other[1].keys()])) {
      if (mayDiffer.has(name)) continue;
      const [left, right] = [one[1].get(name) ?? nothing(), other[1].get(name) ?? nothing()];
      const differ = what.filter((key) => left[key] !== right[key]);
      const told = differ.map((key) => `${key} ${left[key]} in ${one[0]}, ${right[key]} in ${other[0]}`).join('; ');
      if (differ.length > 0) findings.push(`${named(name)}: ${told}`);
    }
  };
  hold(['calls', 'errors'], ['the clients’ book', clients], ['the log', taken]);
  hold(TAKEN, ['the simulator’s book', asked], ['the log', taken]);
  hold(TAKEN, ['the simulator’s book', asked], ['the ledger', await ledgersBook(store)]);
  hold(['calls', 'errors'], ['the clients’ book', clients], ['the spans', spans]);
  hold(TAKEN, ['the simulator’s book', asked], ['the spans', spans]);
  // The log and its figures are written together: they agree on every call, whatever was killed.
  const figures = await figuresBook(node);
  for (const name of new Set([...shown.keys(), ...figures.keys()])) {
    const [left, right] = [shown.get(name) ?? nothing(), figures.get(name) ?? nothing()];
    if (COUNTED.some((key) => left[key] !== right[key]))
      findings.push(`${named(name)}: ${JSON.stringify(left)} in the log, ${JSON.stringify(right)} in figures`);
  }
  for (const [name, { calls }] of clients)
    for (const book of [shown, spans])
      if ((book.get(name)?.calls ?? 0) > calls) findings.push(`${named(name)}: more often in a book than it was made`);
  return [...findings, ...(await metricsDisagree(shown, asked, evidence))];
}

/**
 * What a killed process had not written in this book: calls that were under way and, in full flow, its last calls, and none
 * before them.
 */
function mayBeMissing(book: Book, { made, open, lives }: Evidence): Set<string> {
  const lastWritten = lives.map((_, life) =>
    made.reduce((last, one) => (one.life === life && book.has(one.call.name) ? Math.max(last, one.endedAt) : last), 0),
  );
  const missing = made.filter(({ life, startedAt, endedAt }) => {
    const { end, killedAt } = lives[life]!;
    if (end === null || killedAt < startedAt) return false;
    return endedAt >= killedAt || (end === 'flow' && endedAt > Math.min(lastWritten[life]!, killedAt) - UNORDERED_MS);
  });
  return new Set([...open, ...missing.map(({ call }) => call.name)]);
}

/** Counters begin anew with each process; what they said last is added up, as a query of Prometheus does. */
async function metricsDisagree(log: Book, simulator: Book, evidence: Evidence): Promise<string[]> {
  const { made, lives, node } = evidence;
  Object.assign(lives.at(-1)!, { askedAt: performance.now(), sums: await scraped(node) });
  const counted: Book = new Map();
  for (const { sums } of lives) add(counted, '', sums);
  const metrics = totalOf(counted);
  const all = totalOf(log);
  const missing = mayBeMissing(log, evidence);
  // It may have ended after its process was asked for the last time.
  const isUnasked = ({ life, endedAt }: Made) =>
    lives[life]!.end === 'flow' && endedAt + UNORDERED_MS > lives[life]!.askedAt;
  const uncertain = made.filter((one) => missing.has(one.call.name) || isUnasked(one));
  const names = new Set(uncertain.map(({ call }) => call.name));
  const loose = totalOf(log, (name) => names.has(name));
  const most: Book = new Map();
  for (const { call } of uncertain) add(most, '', { ...(simulator.get(call.name) ?? nothing()), calls: 1, errors: 1 });
  return COUNTED.flatMap((key) => {
    const least = all[key] - loose[key];
    return metrics[key] < least || metrics[key] > least + totalOf(most)[key]
      ? [`metrics count ${metrics[key]} ${key}, the log has ${all[key]}, of which ${loose[key]} are uncertain`]
      : [];
  });
}
