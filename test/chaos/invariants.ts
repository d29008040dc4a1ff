import { builtInPrices } from '../../src/core/prices.ts';
import type { Usage } from '../../src/core/usage.ts';
import type { Evidence, LedgerRow, LogLine } from './evidence.ts';
import { bodyOf, type Call, type Caller } from './load.ts';
import { nameOf, PROMPT_TOKENS, tokens } from './provider.ts';

/** Something that holds whatever breaks. */
export interface Invariant {
  readonly name: string;
  /** What is wrong, one sentence each. */
  readonly find: (evidence: Evidence) => string[] | Promise<string[]>;
}

const REFUSALS = [429, 412, 503];

export const honestAnswers: Invariant = {
  name: 'only 200, 429, 412 and 503 are answered, and 503 only until everything has recovered',
  find: ({ calls, faults }) =>
    calls
      .filter((call) => {
        const { outcome, node, caller, startedAt, endedAt } = call;
        if (outcome === 'lost') return !node.wasAbsent(startedAt, endedAt);
        if (outcome === 503) return !faults.some(({ from, until }) => from <= endedAt && until >= startedAt);
        return outcome !== 200 && !(REFUSALS.includes(outcome) && caller.limit);
      })
      .map(describe),
};

export const unlimitedGoOn: Invariant = {
  name: 'calls without limits notice nothing, unless their node dies',
  find: ({ calls }) =>
    calls
      .filter(({ caller, outcome, node, startedAt, endedAt }) => {
        if (caller.limit || outcome === 200) return false;
        return !node.wasAbsent(startedAt, endedAt);
      })
      .map(describe),
};

export const sentOnce: Invariant = {
  name: 'an answered call reached the provider once, a refused one never',
  find: ({ calls, arrivals }) => {
    const counts = countBy(arrivals, ({ name }) => name);
    return calls
      .filter(({ name, outcome }) => {
        const count = counts.get(name) ?? 0;
        if (outcome === 'lost') return count > 1;
        return count !== (outcome === 200 ? 1 : 0);
      })
      .map((call) => `${describe(call)}, and it reached the provider ${counts.get(call.name) ?? 0} times`);
  },
};

/** The bound that docs/limits.md states. */
export const limitsHold: Invariant = {
  name: 'no more is taken than the limit and what running calls take beyond their estimates',
  find: (evidence) =>
    evidence.callers.flatMap((caller) => {
      if (!caller.limit) return [];
      const { counts, value } = caller.limit;
      const taken = takenBy(caller, evidence);
      const most = value + overshootOf(caller);
      return taken > most + ROUNDING ? [`${taken} ${counts} against a limit of ${value}, with overshoot ${most}`] : [];
    }),
};

/** What reached the provider, in the measure of the caller's limit. */
export function takenBy(caller: Caller, { calls, arrivals }: Evidence): number {
  const names = new Set(calls.filter((call) => call.caller === caller).map(({ name }) => name));
  const counts = caller.limit?.counts ?? 'requests';
  return arrivals.reduce((sum, { name, usage }) => sum + (names.has(name) ? measure(counts, usage) : 0), 0);
}

/** Dollars are fractions; the gateway counts billionths of them. */
const ROUNDING = 1e-9;

/** All calls of a limit together hold no more than the limit, so at most so many run; each may take more than it holds. */
export function overshootOf({ limit, ask }: Caller): number {
  if (!limit || limit.counts === 'requests') return 0;
  const { counts, value } = limit;
  const bytes = Buffer.byteLength(JSON.stringify(bodyOf(nameOf(1), ask)));
  const estimate = measure(counts, tokens(Math.floor(bytes / 4), ask.maxTokens));
  const beyond = measure(counts, tokens(PROMPT_TOKENS, ask.answerTokens)) - estimate;
  return Math.max(0, beyond) * Math.floor(value / estimate);
}

function measure(counts: 'requests' | 'tokens' | 'cost', usage: Usage): number {
  if (counts === 'requests') return 1;
  return counts === 'tokens' ? usage.totalTokens! : builtInPrices.costOf('openai', nameOf(1), usage)!;
}

export const countersAddUp: Invariant = {
  name: 'every counter is the sum of the rows in the ledger',
  find: async ({ store }) => {
    const sums = new Map<string, number>();
    for (const { charges } of await store.ledger()) {
      for (const [counter, amount] of JSON.parse(charges) as [string, number][])
        sums.set(counter, (sums.get(counter) ?? 0) + amount);
    }
    const rows = await store.rows<{ counter: string; used: number | string }>(
      'select counter, used from limit_counters',
    );
    const used = new Map(rows.map((row) => [row.counter, Number(row.used)]));
    return [...sums]
      .filter(([counter, sum]) => (used.get(counter) ?? 0) !== sum)
      .map(([counter, sum]) => `${counter} says ${used.get(counter)}, the ledger says ${sum}`);
  },
};

/** What a node writes down after the answer: a kill may come in between. */
const GATHER_MS = 1_000;

/**
 * With `afterHolds`, also calls that were under way when their node was killed must be there, because the time of their
 * holds is over; that takes two minutes, and calls without limits hold nothing.
 */
export const ledgerComplete = ({ afterHolds = false } = {}): Invariant => ({
  name: 'every call that reached the provider is one row of the ledger, and no other was charged',
  find: (evidence) =>
    settled(afterHolds ? 180_000 : 60_000, async () =>
      compareWithLedger(evidence, await evidence.store.ledger(), afterHolds),
    ),
});

function compareWithLedger({ calls, arrivals }: Evidence, rows: readonly LedgerRow[], afterHolds: boolean): string[] {
  const byName = Map.groupBy(rows, ({ model }) => model);
  const reached = new Set(arrivals.map(({ name }) => name));
  const findings: string[] = [];
  for (const call of calls) {
    const found = byName.get(call.name) ?? [];
    const isUncertain = mayBeUnwritten(call);
    if (found.length > 1) findings.push(`${describe(call)}, and has ${found.length} rows`);
    else if (found.length === 0 && reached.has(call.name) && !(isUncertain && !(afterHolds && call.caller.limit)))
      findings.push(`${describe(call)}, reached the provider, and has no row`);
    else if (found.length === 1 && !isUncertain && (found[0]!.state === 'unsent') === reached.has(call.name))
      findings.push(`${describe(call)}, reached the provider: ${reached.has(call.name)}, its row: ${found[0]!.state}`);
  }
  return findings;
}

/** Sums of fractions differ behind the last digits that mean anything. */
const isSame = (one: number, other: number) => Math.abs(one - other) < 1e-8;

/** The last calls are written after their answers, so it is asked again until all agree. */
export const figuresMatch: Invariant = {
  name: 'figures, log, ledger and provider count the same calls, each once',
  find: (evidence) => settled(30_000, () => compareFigures(evidence)),
};

async function settled(withinMs: number, find: () => Promise<string[]>): Promise<string[]> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const findings = await find();
    if (findings.length === 0 || performance.now() > deadline) return findings;
    await Bun.sleep(250);
  }
}

async function compareFigures({ calls, arrivals, nodes, store }: Evidence): Promise<string[]> {
  const time = `time_of_generation_min=${Date.now() - 3_600_000}&time_of_generation_max=${Date.now() + 60_000}`;
  const ask = async (path: string) => {
    const { status, json, text } = await nodes[0]!.api.get(`/v1/analytics/${path}${time}`);
    if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`);
    return json;
  };
  const counted = new Map<string, number>();
  for (let page = 0, isMore = true; isMore; page++) {
    const { data, has_more } = await ask(`groups/ai-models?current_page=${page}&page_size=1000&`);
    for (const { model, requests } of data) if (model !== null) counted.set(model, requests);
    isMore = has_more;
  }
  const lines = await store.log();
  const logged = countBy(lines, ({ model }) => model);
  const findings = [...new Set([...counted.keys(), ...logged.keys()])]
    .filter((model) => counted.get(model) !== logged.get(model))
    .map((model) => `${model}: figures say ${counted.get(model)}, the log ${logged.get(model)}`);
  const ledger = countBy(await store.ledger(), ({ model }) => model);
  const reached = countBy(arrivals, ({ name }) => name);
  const answered = calls.filter(({ outcome }) => outcome === 200);
  const records = [counted, logged, ledger];
  const written = records.map((record) => answered.filter(({ name }) => record.has(name)));
  for (const call of answered) {
    const counts = [...records, reached].map((each) => each.get(call.name) ?? 0);
    const isRight = counts.every(
      (count, at) => count === 1 || (count === 0 && at < records.length && mayBeLate(call, written[at]!)),
    );
    if (!isRight)
      findings.push(`${describe(call)}; counted by figures, log, ledger and provider: ${counts.join(', ')}`);
  }
  const sum = (of: (line: LogLine) => number | null) => lines.reduce((total, line) => total + Number(of(line)), 0);
  const { summary: tokenGraph } = await ask('graphs/tokens?provider=openai&');
  const { summary: costGraph } = await ask('graphs/cost?provider=openai&');
  for (const [what, figure, all] of [
    ['tokens', tokenGraph.total_tokens, sum(({ total_tokens }) => total_tokens)],
    ['cost', costGraph.cost, sum(({ cost }) => cost)],
    ['calls', costGraph.requests, lines.length],
  ] as const)
    if (!isSame(figure, all)) findings.push(`${what}: figures say ${figure}, the log ${all}`);
  return findings;
}

/** A busy process that is killed takes with it what it had not written: its last calls, and none before them. */
const mayBeLate = ({ node, startedAt, endedAt }: Call, written: readonly Call[]): boolean => {
  const kill = node.absences.find(({ why, from }) => why === 'killed' && from >= startedAt);
  const isLater = (other: Call) =>
    other.node === node && other.endedAt > endedAt + GATHER_MS && other.endedAt < (kill?.from ?? 0);
  return kill !== undefined && !written.some(isLater);
};

/** Whether the call's node was killed before it can be expected to have written down how it ended. */
const mayBeUnwritten = ({ node, startedAt, endedAt }: Call): boolean =>
  node.absences.some(({ why, from }) => why === 'killed' && from >= startedAt && from <= endedAt + GATHER_MS);

export const healthSaid = (...parts: string[]): Invariant => ({
  name: '/health says what is degraded',
  find: ({ degraded }) => parts.filter((part) => !degraded.has(part)).map((part) => `it never named ${part}`),
});

/** On a node that lives. A query may wait 15 seconds for a silent database; calls must not. */
export const nobodyWaits: Invariant = {
  name: 'every call is answered within 10 seconds',
  find: ({ calls }) =>
    calls
      .filter(({ node, startedAt, endedAt }) => endedAt - startedAt > 10_000 && !node.wasAbsent(startedAt, endedAt))
      .map(describe),
};

/** Not an invariant of the gateway but of the scenario: without it, nothing has been shown. */
export const wasBusy = (least: number): Invariant => ({
  name: 'the scenario saw enough',
  find: ({ calls, callers }) => {
    const answered = (caller: Caller, status: number) =>
      calls.some((call) => call.caller === caller && call.outcome === status);
    return [
      ...(calls.length < least ? [`only ${calls.length} calls were made`] : []),
      ...callers.filter((caller) => !answered(caller, 200)).map(() => 'a key was never answered'),
    ];
  },
});

function countBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}

const describe = ({ name, caller, node, outcome, why, startedAt, endedAt }: Call): string => {
  const limit = caller.limit ? `limited to ${caller.limit.value} ${caller.limit.counts}` : 'without limits';
  const tookMs = Math.round(endedAt - startedAt);
  return `${name} (${limit}) on node ${node.number} got ${outcome}${why ? ` ${why}` : ''} after ${tookMs} ms`;
};
