import { Callers, type MeteredCall } from './callers.ts';
import { CappedLabel } from './capped.ts';
import type { FamilySnapshot } from './family.ts';
import { ofNode, type Siblings } from './node.ts';
import { createRegistry, type Registry } from './registry.ts';

/** Clients choose model names, MCP servers the codes of their errors; a label must not grow with them. */
const MOST_MODELS = 200;
const MOST_CODES = 500;
const MOST_SERVERS = 200;
const MOST_TOOLS = 1_000;
const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']);

export type LogResult = 'written' | 'spooled' | 'dropped';

/** One finished request, as it is counted. */
export interface Observation extends MeteredCall {
  /** The route's pattern, never the path that was called. */
  readonly route: string;
  readonly method: string;
  readonly status: number;
  readonly errorCode: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  readonly isCached: boolean;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly traceId: string;
  readonly durationMs: number;
  readonly firstByteMs: number | null;
}

export interface Metrics extends Registry {
  /** Requests that have not sent their last byte. */
  readonly open: number;
  /** Calls whose price is not known, since the start. */
  readonly unpricedCalls: number;
  /** What is counted under `other`, since the start: labels that are full, by name. */
  readonly cappedLabels: readonly string[];
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
  /** What a scrape is told: of all processes of the node. */
  scrape(): Promise<readonly FamilySnapshot[]>;
}

export interface MetricsOptions {
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** So many callers are told apart; 0: none are. */
  readonly mostCallers: number;
  /** Null: this process is the node. */
  readonly siblings?: Siblings | null;
  readonly now?: () => number;
}

export function createMetrics({
  version,
  startedAt,
  mostCallers,
  siblings = null,
  now = Date.now,
}: MetricsOptions): Metrics {
  const registry = createRegistry();
  const { counter, histogram, gauge, gauges, collected } = registry;
  siblings?.answerBy(registry.snapshot);

  const requests = counter('gateway_requests_total', 'Finished requests.', ['route', 'method', 'status', 'provider']);
  const failures = counter('gateway_failures_total', 'Finished requests that failed, by who is to blame.', [
    'failed_by',
    'code',
    'provider',
  ]);
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
  const cached = counter('gateway_cached_answers_total', 'Calls that were answered from the cache.', ['provider']);
  const records = counter('gateway_log_records_total', 'Request log records by what became of them.', ['result']);
  const bodies = counter('gateway_log_bodies_dropped_total', 'Records whose bodies were given up to keep the record.');
  const leftOut = counter('gateway_records_left_out_total', 'Calls of strangers that have no record of their own.', [
    'log',
  ]);
  const turnedAway = counter(
    'gateway_requests_turned_away_total',
    'Requests of addresses that had too many under way.',
  );
  const capped = counter('gateway_metrics_capped_total', 'Values counted as "other" because their label is full.', [
    'label',
  ]);
  const mcpCalls = counter('gateway_mcp_calls_total', 'Finished calls of MCP servers, by tool or method.', [
    'server',
    'tool',
    'failed_by',
  ]);
  const mcpDurations = histogram(
    'gateway_mcp_call_duration_seconds',
    'From the first byte of a call of an MCP server to the last byte of its answer.',
    ['server'],
  );
  for (const result of ['written', 'spooled', 'dropped']) records.at(result);
  for (const log of ['requests', 'audit']) leftOut.at(log);
  bodies.at();
  turnedAway.at();
  const models = new CappedLabel(MOST_MODELS, capped.at('model'));
  const mcpServers = new CappedLabel(MOST_SERVERS, capped.at('server'));
  const mcpTools = new CappedLabel(MOST_TOOLS, capped.at('tool'));
  const codes = new CappedLabel(MOST_CODES, capped.at('code'));
  const callers =
    mostCallers > 0 ? new Callers({ registry, most: mostCallers, beyond: capped.at('caller'), now }) : null;

  let open = 0;
  let unpricedCalls = 0;
  gauge('gateway_open_requests', 'Requests that have not sent their last byte.', () => open);
  gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss());
  gauge('process_start_time_seconds', 'Start, in seconds since the epoch.', () => startedAt / 1000);
  const processor = {
    name: 'process_cpu_seconds_total',
    type: 'counter',
    help: 'User and system time.',
    labels: [],
  } as const;
  collected(processor, () => {
    const { user, system } = process.cpuUsage();
    return [{ labelled: [], value: (user + system) / 1e6 }];
  });
  gauges('gateway_build_info', 'Always 1; the version is a label.', 'version', () => [[version, 1]]);

  function count({ provider, model, usage, cost }: Observation) {
    const name = provider ?? '';
    if (usage) {
      const label = model ? models.of(model) : '';
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

  function countMcp({ virtualKey, model, failedBy, durationMs, traceId, startedAt: at }: Observation) {
    // Without one, the call came to no server.
    if (virtualKey === null) return;
    const server = mcpServers.of(virtualKey);
    mcpCalls.at(server, model === null ? '' : mcpTools.of(model), failedBy ?? '').value++;
    mcpDurations.at(server).observe(durationMs / 1000, traceId, at + durationMs);
  }

  return {
    ...registry,
    get families() {
      return registry.families;
    },
    get open() {
      return open;
    },
    get unpricedCalls() {
      return unpricedCalls;
    },
    get cappedLabels() {
      return capped.series.filter(({ value }) => value.value > 0).map(({ labelled: [label] }) => label!);
    },
    opened: () => {
      open++;
    },
    ended: () => {
      open--;
    },
    closed: (observation) => {
      const { route, method, status, provider, durationMs, firstByteMs, traceId, startedAt: at } = observation;
      const { failedBy, errorCode } = observation;
      const verb = METHODS.has(method) ? method : 'OTHER';
      const name = provider ?? '';
      requests.at(route, verb, String(status), name).value++;
      if (failedBy !== null) failures.at(failedBy, errorCode === null ? '' : codes.of(errorCode), name).value++;
      durations.at(name).observe(durationMs / 1000, traceId, at + durationMs);
      if (firstByteMs !== null) firstBytes.at(name).observe(firstByteMs / 1000, traceId, at + firstByteMs);
      if (observation.isCached) cached.at(name).value++;
      count(observation);
      callers?.count(observation);
      if (provider === 'mcp') countMcp(observation);
    },
    logged: (result, amount) => {
      records.at(result).value += amount;
    },
    bodiesDropped: (amount) => {
      bodies.at().value += amount;
    },
    leftOut: (log) => {
      leftOut.at(log).value++;
    },
    turnedAway: () => {
      turnedAway.at().value++;
    },
    scrape: async () => (siblings ? ofNode(registry.snapshot(), siblings) : registry.snapshot()),
  };
}
