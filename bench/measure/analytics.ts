import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { LogTarget } from '../../src/telemetry/log-store.ts';
import {
  adminHeaders,
  CHAT,
  create,
  createVirtualKey,
  type GatewayProcess,
  onPostgres,
  spawnGateway,
} from '../gateway.ts';
import { type Lab, UNPINNED } from '../lab.ts';
import { moment, type OpenLoopJob, type OpenLoopResult, type Span } from '../load/job.ts';
import { DAYS, type Filling, fillLog } from '../load/log-entries.ts';
import { percentile, short } from '../numbers.ts';
import { chatRequest } from '../prompt.ts';
import { openPostgres } from '../stores.ts';
import { pagesInBrowser } from './browser-pages.ts';
import { CONSOLE_PAGES, consoleSpans } from './console-pages.ts';
import { measured as measuredCalls } from './undisturbed.ts';

export interface AnalyticsSample {
  readonly store: 'embedded' | 'PostgreSQL';
  readonly entries: number;
  readonly route: string;
  /** A page of the console, with all that it asks for. */
  readonly isPage: boolean;
  /** A page in a browser that had nothing of the console yet: shown beside the others, and not judged with them. */
  readonly isFirst?: boolean;
  /** Milliseconds, over several times and filters, while calls pass. */
  readonly p50: number;
  readonly p95: number;
  /** What the calls that pass take meanwhile, and what they took while nothing was asked; of pages alone. */
  readonly calls?: {
    readonly p99: number;
    readonly aloneP99: number;
    /** With those that were under way while the machine stood still: a third of a second of that is a p99 by itself. */
    readonly p99WithStalls: number;
  };
}

export const CALLS_PER_SECOND = 200;
const ROUTES = [
  ...['all', 'requests', 'cost', 'latency', 'first-byte', 'tokens', 'bytes', 'users', 'users/requests'].map(graph),
  ...['errors', 'errors/rate', 'errors/origins', 'errors/status-codes'].map(graph),
  ...['users', 'ai-models', 'providers', 'virtual-keys', 'api-keys', 'status-codes', 'workspaces'].map(group),
  ...['error-codes', 'endpoints', 'verdicts', 'cache-statuses', 'metadata/_user'].map(group),
  'facets',
  ...['cost&group_by=model', 'latency_p90&group_by=model', 'cost&group_by=model&subgroup_by=api_key_id'].map(series),
];
const HOUR_MS = 3_600_000;
const SPANS_MS = [HOUR_MS, 24 * HOUR_MS, 7 * 24 * HOUR_MS, DAYS * 24 * HOUR_MS];
const FILTERS = ['', '&provider=openai', '&model=anthropic-model-1&status=200'];
/** Each of these questions, so often. */
const TIMES = 2;
const PAGE_TIMES = 6;
const PAUSE_MS = 5;
/** Somebody opens a page so often. */
const PAGE_EVERY_MS = 1_000;
/** What calls take while nothing is asked is measured so long, after as long again. */
const ALONE_MS = 15_000;

/** Every analytics route on logs of growing length, on both stores, while calls pass. */
export async function measureAnalytics(pinned: Lab): Promise<AnalyticsSample[]> {
  // Questions are answered by a thread of their own: on one core with the calls it would wait for them, and they for it.
  const lab: Lab = { ...pinned, cores: UNPINNED };
  const postgres = await openPostgres(lab.cores.stores);
  const samples: AnalyticsSample[] = [];
  for (const store of ['embedded', 'PostgreSQL'] as const)
    for (const entries of lab.lengths.logEntries) {
      const dataFolder = join(lab.folder, `analytics-${store}-${entries}`);
      const file = join(dataFolder, 'logs.db');
      const place =
        store === 'embedded' ? embedded(dataFolder, file) : onServer(dataFolder, await postgres.createDatabase());
      await filled(lab, place, { ...(await prepare(lab, place)), entries });
      samples.push(...(await measured(lab, place, entries)));
      rmSync(dataFolder, { recursive: true, force: true });
    }
  await postgres.end();
  return samples;
}

interface Place {
  readonly store: AnalyticsSample['store'];
  readonly dataFolder: string;
  readonly target: LogTarget;
  readonly environment?: Record<string, string>;
}

/** Entries are made from the beginning of a day on: to remove those that are older than the usual time is not what is measured. */
const keepingAll = { GATEWAY_LOG_RETENTION_DAYS: String(2 * DAYS) };

const embedded = (dataFolder: string, file: string): Place => ({
  store: 'embedded',
  dataFolder,
  target: { engine: 'sqlite', file },
  environment: keepingAll,
});

const onServer = (dataFolder: string, url: string): Place => ({
  store: 'PostgreSQL',
  dataFolder,
  target: { engine: 'postgres', url },
  environment: { ...keepingAll, ...onPostgres(url) },
});

/** The gateway makes its tables and the keys; then it is ended, for one process at a time may write the embedded log. */
async function prepare(lab: Lab, place: Place): Promise<Pick<Filling, 'organisationId' | 'workspaceId'>> {
  const gateway = await spawnGateway(lab, place);
  await createVirtualKey(gateway.origin, 'bench', `${lab.upstream.url}/v1`);
  const { id } = await asked(gateway, '/v1/admin/organisation');
  const { data } = await asked(gateway, '/v1/admin/workspaces');
  await gateway.running.end();
  return { organisationId: String(id), workspaceId: (data as [{ id: string }])[0].id };
}

async function filled(lab: Lab, { store, target }: Place, filling: Omit<Filling, 'target'>) {
  const began = performance.now();
  await fillLog({ target, ...filling });
  const seconds = (performance.now() - began) / 1_000;
  lab.say(`analytics on ${store}: ${short(filling.entries)} entries, written in ${short(seconds)} s`);
}

async function measured(lab: Lab, place: Place, entries: number): Promise<AnalyticsSample[]> {
  const gateway = await spawnGateway(lab, place);
  const key = String((await create(gateway.origin, '/v1/api-keys', { name: 'calls' })).key);
  const passing = calls(lab, gateway, key);
  // The code of calls is compiled first, and some of them wait to be taken into the figures then.
  await Bun.sleep(ALONE_MS);
  const alone = await during(() => Bun.sleep(ALONE_MS));
  // The first question reads which kinds there are; operators ask more than once.
  for (const route of ROUTES) await timed(gateway, route, SPANS_MS[0]!, '');
  const samples: AnalyticsSample[] = [];
  for (const route of ROUTES) {
    const took: number[] = [];
    for (let time = 0; time < TIMES; time++)
      for (const span of SPANS_MS)
        for (const filter of FILTERS) {
          took.push(await timed(gateway, route, span, filter));
          await Bun.sleep(PAUSE_MS);
        }
    samples.push({
      ...{ store: place.store, entries, route, isPage: false },
      p50: percentile(took, 0.5),
      p95: percentile(took, 0.95),
    });
  }
  const opened: (AnalyticsSample & { readonly span: Span })[] = [];
  for (const [name, questions] of Object.entries(CONSOLE_PAGES)) {
    const took: number[] = [];
    const span = await during(async () => {
      for (let time = 0; time < PAGE_TIMES; time++)
        for (const span of consoleSpans(Date.now())) {
          const began = performance.now();
          await Promise.all(questions(span).map((path) => asked(gateway, path)));
          took.push(performance.now() - began);
          await Bun.sleep(Math.max(PAUSE_MS, PAGE_EVERY_MS - took.at(-1)!));
        }
    });
    const [p50, p95] = [percentile(took, 0.5), percentile(took, 0.95)];
    opened.push({ store: place.store, entries, route: `console: ${name}`, isPage: true, p50, p95, span });
  }
  const seen = Map.groupBy(await pagesInBrowser(gateway), ({ page }) => page);
  const { answered, stalls } = await passing.end();
  const callsDuring = ({ from, to }: Span) =>
    measuredCalls(
      answered.filter((call) => call.from >= from && call.from < to),
      stalls,
    );
  const aloneP99 = callsDuring(alone).undisturbed.p99;
  for (const { span, ...page } of opened) {
    const { all, undisturbed } = callsDuring(span);
    samples.push({ ...page, calls: { p99: undisturbed.p99, aloneP99, p99WithStalls: all.p99 } });
  }
  for (const [page, opened] of seen) {
    const took = opened.map(({ ms }) => ms);
    const [p50, p95] = [percentile(took, 0.5), percentile(took, 0.95)];
    const isFirst = opened.some((each) => each.isFirst);
    samples.push({ store: place.store, entries, route: `in a browser: ${page}`, isPage: true, isFirst, p50, p95 });
  }
  await gateway.running.end();
  for (const isPage of [false, true]) {
    const [worst] = samples
      .filter((each) => each.isPage === isPage && !each.isFirst)
      .sort((one, other) => other.p95 - one.p95);
    if (worst)
      lab.say(
        `analytics on ${place.store}, ${short(entries)} entries: p95 at most ${short(worst.p95)} ms (${worst.route})`,
      );
  }
  return samples;
}

async function timed(gateway: GatewayProcess, route: string, spanMs: number, filter: string): Promise<number> {
  const until = Date.now();
  const range = `time_of_generation_min=${until - spanMs}&time_of_generation_max=${until}`;
  const began = performance.now();
  await asked(gateway, `/v1/analytics/${route}${route.includes('?') ? '&' : '?'}${range}${filter}`);
  return performance.now() - began;
}

async function asked({ origin }: GatewayProcess, path: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${origin}${path}`, { headers: adminHeaders });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text.slice(0, 300)}`);
  return JSON.parse(text);
}

async function during(work: () => Promise<unknown>): Promise<Span> {
  const from = moment();
  await work();
  return { from, to: moment() };
}

/** How long one round of calls takes: what they took is told after each. */
const ROUND_MS = 5_000;
const MOST_ROUNDS = 1_000;

/** Calls at a fixed rate until told to end; then what each of them took, and when the machine stood still. */
function calls(lab: Lab, { origin }: GatewayProcess, key: string) {
  const headers = { 'content-type': 'application/json', 'x-gateway-api-key': key, 'x-gateway-virtual-key': 'bench' };
  const job: OpenLoopJob = {
    arms: [{ name: 'gateway', url: `${origin}${CHAT}`, headers }],
    body: chatRequest(300),
    callsPerSecond: CALLS_PER_SECOND,
    sliceMs: ROUND_MS,
    cycles: 1,
    rounds: MOST_ROUNDS,
    isAlone: false,
  };
  const generator = lab.processes.converse(join(import.meta.dir, '../load/open-loop.ts'), job, lab.cores.load);
  const answered: Span[] = [];
  const stalls: Span[] = [];
  let failed = 0;
  let isOver = false;
  const listening = (async () => {
    while (!isOver) {
      const { arms, stalls: seen } = await generator.next<OpenLoopResult>(10 * ROUND_MS);
      stalls.push(...seen);
      for (const arm of arms) {
        answered.push(...arm.calls);
        failed += arm.failed;
      }
    }
  })();
  return {
    end: async () => {
      isOver = true;
      await listening;
      await generator.running.end();
      if (failed > 0) lab.note(`analytics: ${failed} of the calls beside it failed`);
      return { answered, stalls };
    },
  };
}

function graph(name: string): string {
  return `graphs/${name}`;
}

function series(name: string): string {
  return `series?metric=${name}`;
}

function group(name: string): string {
  return `groups/${name}`;
}
