import { builtInPrices } from '../../src/core/prices.ts';
import type { StoreView } from '../chaos/evidence.ts';
import type { ChaosNode } from '../chaos/node.ts';
import type { ReadSpan } from '../collector.ts';
import { KINDS } from '../collector.ts';
import { readScrape, type Scrape } from '../telemetry/scrape.ts';
import type { Arrival } from './provider.ts';

/** What one book says of the calls of one name, or of all. Cost in whole billionths of a dollar. */
export interface Sums {
  calls: number;
  errors: number;
  /** Requests to the provider. */
  attempts: number;
  input: number;
  output: number;
  cost: number;
}

export type Book = Map<string, Sums>;

const NANO = 1e9;
export const nothing = (): Sums => ({ calls: 0, errors: 0, attempts: 0, input: 0, output: 0, cost: 0 });

export function add(book: Book, name: string, what: Partial<Sums>): void {
  const sums = book.get(name) ?? nothing();
  book.set(name, sums);
  for (const key of Object.keys(what) as (keyof Sums)[]) sums[key] += what[key]!;
}

export function totalOf(book: Book, isWanted: (name: string) => boolean = () => true): Sums {
  const total: Book = new Map();
  for (const [name, sums] of book) if (isWanted(name)) add(total, '', sums);
  return total.get('') ?? nothing();
}

/** What the simulator saw. It prices by the gateway's list, in whole numbers. */
export function simulatorsBook(arrivals: readonly Arrival[]): Book {
  const book: Book = new Map();
  for (const { name, provider, told } of arrivals) {
    const usage = told && { inputTokens: told.input, outputTokens: told.output };
    const cost = Math.round((builtInPrices.costOf(provider, name, usage) ?? 0) * NANO);
    add(book, name, { attempts: 1, input: told?.input ?? 0, output: told?.output ?? 0, cost });
  }
  return book;
}

interface LogLine {
  readonly model: string;
  readonly status: number;
  readonly failed_by: string | null;
  readonly input_tokens: number | string | null;
  readonly output_tokens: number | string | null;
  readonly cost: number | null;
  readonly attempt_count: number;
  readonly attempts: string | null;
}

const LOG =
  'select model, status, failed_by, input_tokens, output_tokens, cost, attempt_count, attempts from request_logs ' +
  "where path = '/v1/chat/completions' and model is not null";

/** `taken`: without the tokens of answers that were kept, which nobody took a second time. */
export async function logsBook(store: StoreView): Promise<{ shown: Book; taken: Book }> {
  const [shown, taken]: [Book, Book] = [new Map(), new Map()];
  for (const line of await store.logRows<LogLine>(LOG)) {
    const tokens = { input: Number(line.input_tokens), output: Number(line.output_tokens) };
    const counted = {
      calls: 1,
      errors: line.status >= 400 || line.failed_by !== null ? 1 : 0,
      attempts: line.attempt_count,
      cost: Math.round(Number(line.cost) * NANO),
    };
    const isKept = line.attempts?.includes('"cache":["HIT"') ?? false;
    add(shown, line.model, { ...counted, ...tokens });
    add(taken, line.model, { ...counted, ...(isKept ? {} : tokens) });
  }
  return { shown, taken };
}

/** Rows of requests that were sent; tokens and cost of those whose provider said what they took. */
export async function ledgersBook(store: StoreView): Promise<Book> {
  const book: Book = new Map();
  for (const { model, state, input_tokens, output_tokens, cost } of await store.ledger()) {
    if (state === 'unsent') continue;
    const isFinal = state === 'final';
    const of = (value: number | null) => (isFinal ? Number(value) : 0);
    add(book, model, { attempts: 1, input: of(input_tokens), output: of(output_tokens), cost: of(cost) });
  }
  return book;
}

const PAGE = 1_000;

export async function figuresBook({ api }: ChaosNode): Promise<Book> {
  const book: Book = new Map();
  const time = `time_of_generation_min=${Date.now() - 3_600_000}&time_of_generation_max=${Date.now() + 60_000}`;
  for (let page = 0, isMore = true; isMore; page++) {
    const path = `/v1/analytics/groups/ai-models?current_page=${page}&page_size=${PAGE}&${time}`;
    const { status, json, text } = await api.get(path);
    if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`);
    for (const { model, requests, errors, cost, input_tokens, output_tokens } of json.data)
      if (model !== null)
        add(book, model, {
          ...{ calls: requests, errors, input: input_tokens, output: output_tokens },
          cost: Math.round(cost * NANO),
        });
    isMore = json.has_more;
  }
  return book;
}

/** Each call is a server span, each request to the provider a client span. Says which spans came twice. */
export function spansBook(spans: readonly ReadSpan[]): { book: Book; doubled: string[] } {
  const book: Book = new Map();
  const doubled: string[] = [];
  const seen = new Set<string>();
  for (const { traceId, spanId, kind, attributes } of spans) {
    const name = attributes['gateway.metadata.call'];
    if (typeof name !== 'string') continue;
    if (seen.has(`${traceId}${spanId}`)) doubled.push(name);
    seen.add(`${traceId}${spanId}`);
    const number = (key: string) => Number(attributes[`gen_ai.usage.${key}`] ?? 0);
    if (kind === KINDS.server) add(book, name, { calls: 1, errors: attributes['error.type'] === undefined ? 0 : 1 });
    if (kind === KINDS.client)
      add(book, name, {
        attempts: 1,
        input: number('input_tokens'),
        output: number('output_tokens'),
        cost: Math.round(number('cost') * NANO),
      });
  }
  return { book, doubled };
}

const CHAT = '/v1/chat/completions';

/** What one process has counted since its start. */
export async function scraped({ api }: ChaosNode): Promise<Sums> {
  return sumsIn(readScrape((await api.get('/metrics')).text));
}

function sumsIn(scrape: Scrape): Sums {
  const sum = (name: string, isWanted: (labels: Readonly<Record<string, string>>) => boolean) =>
    (scrape.get(name)?.samples ?? []).reduce((total, { labels, value }) => total + (isWanted(labels) ? value : 0), 0);
  return {
    calls: sum('gateway_requests_total', ({ route }) => route === CHAT),
    errors: sum('gateway_failures_total', () => true),
    attempts: 0,
    input: sum('gateway_tokens_total', ({ kind }) => kind === 'input'),
    output: sum('gateway_tokens_total', ({ kind }) => kind === 'output'),
    cost: Math.round(sum('gateway_cost_usd_total', () => true) * NANO),
  };
}
