import type { Usage } from './record.ts';

/** Seconds; from a cache hit to a long reasoning run. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120] as const;

/** Clients choose model names and methods; a label must not grow with them. */
const MOST_MODELS = 200;
const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']);

export type LogResult = 'written' | 'spooled' | 'dropped';

/** One finished request, as it is counted. */
export interface Observation {
  /** The route's pattern, never the path that was called. */
  readonly route: string;
  readonly method: string;
  readonly status: number;
  readonly provider: string | null;
  readonly model: string | null;
  readonly durationMs: number;
  readonly firstByteMs: number | null;
  readonly usage: Usage | null;
  readonly cost: number | null;
}

export interface Metrics {
  /** Requests that have not sent their last byte. */
  readonly open: number;
  /** Calls whose price is not known, since the start. */
  readonly unpricedCalls: number;
  opened(): void;
  /** Its last byte was sent; what is known of it is counted by `closed`, a little later. */
  ended(): void;
  closed(observation: Observation): void;
  logged(result: LogResult, records: number): void;
  bodiesDropped(records: number): void;
  /** A call of a stranger has no record of its own in one of the logs. */
  leftOut(log: 'requests' | 'audit'): void;
  /** Its address had too many requests under way. */
  turnedAway(): void;
  /** A value that is read when the metrics are asked for. */
  gauge(name: string, help: string, read: () => number): void;
  /** The same with one value for each of several names. */
  gauges(name: string, help: string, label: string, read: () => Iterable<readonly [name: string, value: number]>): void;
  render(): string;
}

interface Cell {
  value: number;
}

const escapeLabel = (value: string) =>
  value.replace(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`));

type Branches<Value> = Map<string, Map<string, Map<string, Map<string, Value>>>>;

class Family<Value> {
  readonly series: { readonly labelled: readonly string[]; readonly value: Value }[] = [];
  /** The same by one label after the other: to make one key of them would cost more than all that is done with it. */
  readonly #branches: Branches<Value> = new Map();
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly #make: () => Value;

  constructor(name: string, help: string, labels: readonly string[], make: () => Value) {
    this.name = name;
    this.help = help;
    this.labels = labels;
    this.#make = make;
  }

  /** The series with these values of its labels, at most four. */
  at(first: string, second = '', third = '', fourth = ''): Value {
    return this.#branches.get(first)?.get(second)?.get(third)?.get(fourth) ?? this.#add(first, second, third, fourth);
  }

  #add(first: string, second: string, third: string, fourth: string): Value {
    const value = this.#make();
    branchOf(branchOf(branchOf(this.#branches, first), second), third).set(fourth, value);
    this.series.push({ labelled: [first, second, third, fourth], value });
    return value;
  }

  labelsOf(values: readonly string[], extra = ''): string {
    const pairs = this.labels.map((label, index) => `${label}="${escapeLabel(values[index]!)}"`);
    if (extra) pairs.push(extra);
    return pairs.length ? `{${pairs.join(',')}}` : '';
  }
}

function branchOf<Key, Value>(tree: Map<string, Map<Key, Value>>, name: string): Map<Key, Value> {
  const branch = tree.get(name) ?? new Map<Key, Value>();
  tree.set(name, branch);
  return branch;
}

class Distribution {
  readonly counts = new Float64Array(BUCKETS.length + 1);
  sum = 0;

  observe(seconds: number) {
    let bucket = 0;
    while (bucket < BUCKETS.length && seconds > BUCKETS[bucket]!) bucket++;
    this.counts[bucket]!++;
    this.sum += seconds;
  }
}

const counter = (name: string, help: string, labels: readonly string[]) =>
  new Family<Cell>(name, help, labels, () => ({ value: 0 }));
const histogram = (name: string, help: string, labels: readonly string[]) =>
  new Family<Distribution>(name, help, labels, () => new Distribution());

export interface MetricsOptions {
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
}

export function createMetrics({ version, startedAt }: MetricsOptions): Metrics {
  const requests = counter('gateway_requests_total', 'Finished requests.', ['route', 'method', 'status', 'provider']);
  const durations = histogram('gateway_request_duration_seconds', 'From the first byte in to the last byte out.', [
    'provider',
  ]);
  const firstBytes = histogram('gateway_first_byte_seconds', 'From the first byte in to the first byte out.', [
    'provider',
  ]);
  const tokens = counter('gateway_tokens_total', 'Tokens as providers counted them.', ['provider', 'model', 'kind']);
  const costs = counter('gateway_cost_usd_total', 'Cost by list price, where model and usage are known.', ['provider']);
  const unpriced = counter('gateway_unpriced_calls_total', 'Calls that took tokens at a price that is not known.', [
    'provider',
    'model',
  ]);
  const records = counter('gateway_log_records_total', 'Request log records by what became of them.', ['result']);
  const bodies = counter(
    'gateway_log_bodies_dropped_total',
    'Records whose bodies were given up to keep the record.',
    [],
  );
  const leftOut = counter('gateway_records_left_out_total', 'Calls of strangers that have no record of their own.', [
    'log',
  ]);
  const turnedAway = counter(
    'gateway_requests_turned_away_total',
    'Requests of addresses that had too many under way.',
    [],
  );
  const open: Cell = { value: 0 };
  let unpricedCalls = 0;
  const models = new Set<string>();
  const gauges: { name: string; help: string; read: () => number }[] = [
    { name: 'gateway_open_requests', help: 'Requests that have not sent their last byte.', read: () => open.value },
    { name: 'process_resident_memory_bytes', help: 'Resident memory.', read: () => process.memoryUsage.rss() },
    { name: 'process_start_time_seconds', help: 'Start, in seconds since the epoch.', read: () => startedAt / 1000 },
  ];
  const families: { name: string; help: string; label: string; read: Parameters<Metrics['gauges']>[3] }[] = [];
  for (const result of ['written', 'spooled', 'dropped']) records.at(result);
  bodies.at('');
  for (const log of ['requests', 'audit']) leftOut.at(log);
  turnedAway.at('');

  const modelLabel = (model: string) => {
    if (models.has(model)) return model;
    if (models.size >= MOST_MODELS) return 'other';
    models.add(model);
    return model;
  };

  function count({ provider, model, usage, cost }: Observation) {
    const name = provider ?? '';
    if (usage) {
      const label = model ? modelLabel(model) : '';
      if (usage.inputTokens) tokens.at(name, label, 'input').value += usage.inputTokens;
      if (usage.outputTokens) tokens.at(name, label, 'output').value += usage.outputTokens;
      if (usage.cachedInputTokens) tokens.at(name, label, 'cached_input').value += usage.cachedInputTokens;
      if (usage.reasoningTokens) tokens.at(name, label, 'reasoning').value += usage.reasoningTokens;
      if (cost === null) {
        unpriced.at(name, label).value++;
        unpricedCalls++;
      }
    }
    if (cost) costs.at(name).value += cost;
  }

  return {
    get open() {
      return open.value;
    },
    get unpricedCalls() {
      return unpricedCalls;
    },
    opened: () => {
      open.value++;
    },
    ended: () => {
      open.value--;
    },
    closed: (observation) => {
      const { route, method, status, provider, durationMs, firstByteMs } = observation;
      const verb = METHODS.has(method) ? method : 'OTHER';
      const name = provider ?? '';
      requests.at(route, verb, String(status), name).value++;
      durations.at(name).observe(durationMs / 1000);
      if (firstByteMs !== null) firstBytes.at(name).observe(firstByteMs / 1000);
      count(observation);
    },
    logged: (result, amount) => {
      records.at(result).value += amount;
    },
    bodiesDropped: (amount) => {
      bodies.at('').value += amount;
    },
    leftOut: (log) => {
      leftOut.at(log).value++;
    },
    turnedAway: () => {
      turnedAway.at('').value++;
    },
    gauge: (name, help, read) => {
      gauges.push({ name, help, read });
    },
    gauges: (name, help, label, read) => {
      families.push({ name, help, label, read });
    },
    render: () => {
      const lines: string[] = [];
      const counters = [requests, tokens, costs, unpriced, records, bodies, leftOut, turnedAway];
      for (const family of counters) renderCounter(family, lines);
      for (const family of [durations, firstBytes]) renderHistogram(family, lines);
      for (const { name, help, read } of gauges) describe(lines, name, help, 'gauge').push(`${name} ${read()}`);
      for (const { name, help, label, read } of families) {
        describe(lines, name, help, 'gauge');
        for (const [of, value] of read()) lines.push(`${name}{${label}="${escapeLabel(of)}"} ${value}`);
      }
      const { user, system } = process.cpuUsage();
      describe(lines, 'process_cpu_seconds_total', 'User and system time.', 'counter').push(
        `process_cpu_seconds_total ${(user + system) / 1e6}`,
      );
      describe(lines, 'gateway_build_info', 'Always 1; the version is a label.', 'gauge').push(
        `gateway_build_info{version="${escapeLabel(version)}"} 1`,
      );
      return `${lines.join('\n')}\n`;
    },
  };
}

function describe(lines: string[], name: string, help: string, type: string): string[] {
  lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
  return lines;
}

function renderCounter(family: Family<Cell>, lines: string[]) {
  describe(lines, family.name, family.help, 'counter');
  for (const { labelled, value } of family.series)
    lines.push(`${family.name}${family.labelsOf(labelled)} ${value.value}`);
}

function renderHistogram(family: Family<Distribution>, lines: string[]) {
  describe(lines, family.name, family.help, 'histogram');
  for (const {
    labelled,
    value: { counts, sum },
  } of family.series) {
    let total = 0;
    for (const [index, bound] of BUCKETS.entries()) {
      total += counts[index]!;
      lines.push(`${family.name}_bucket${family.labelsOf(labelled, `le="${bound}"`)} ${total}`);
    }
    total += counts[BUCKETS.length]!;
    lines.push(`${family.name}_bucket${family.labelsOf(labelled, 'le="+Inf"')} ${total}`);
    lines.push(
      `${family.name}_sum${family.labelsOf(labelled)} ${sum}`,
      `${family.name}_count${family.labelsOf(labelled)} ${total}`,
    );
  }
}
