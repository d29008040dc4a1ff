import type { Settings } from '../settings.ts';
import { readArguments, UsageError } from './arguments.ts';
import { type Remote, remoteOf } from './remote.ts';

const USAGE = `gateway logs [--follow] [--limit <number>] [--filter <text>] [--where <filter>]… [--json] [--url <address>]

Shows the newest entries of the request log, the newest last.

  --follow           go on with entries as their calls end, until Ctrl-C. A call that took more than 15 minutes is not shown
  --limit <number>   how many to begin with, at most 1000; 20 unless given
  --filter <text>    which entries, for example 'status:>=500 model:gpt* cost:>0.1 meta.team:search'
  --where <filter>   a filter of GET /v1/logs, for example status=429, model=gpt-5 or metadata.team=search
  --json             one JSON object to a line, with all fields
  --url <address>    where the gateway is; where you have signed in, or this machine's, unless given
`;

const options = {
  follow: { type: 'boolean', default: false, short: 'f' },
  limit: { type: 'string', default: '20' },
  filter: { type: 'string' },
  where: { type: 'string', multiple: true },
  json: { type: 'boolean', default: false },
  url: { type: 'string' },
} as const;

interface Entry {
  readonly id: string;
  readonly created_at: number;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly error_code: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  readonly total_tokens: number | null;
  readonly cost: number | null;
  readonly duration_ms: number;
  readonly attempt_count: number | null;
}

interface LogPage {
  readonly data: readonly Entry[];
  readonly has_more: boolean;
  readonly next_cursor?: string | null;
}

const LOOK_AGAIN_MS = 1_000;
/** An entry appears when its call ends, under the time at which it began. */
const LOOK_BACK_MS = 15 * 60_000;
const PAGE = 200;

/** Speaks to a running gateway. */
export async function logs(settings: Settings, rest: readonly string[]): Promise<void> {
  const { values } = readArguments(rest, { options, positionals: 0, usage: USAGE });
  const limit = Number(values.limit);
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
    throw new UsageError(`--limit ${values.limit} is no number from 1 to 1000.\n\n${USAGE}`);
  const filters = (values.where ?? []).map(filterIn);
  if (values.filter !== undefined) filters.push(['filter', values.filter]);
  const remote = remoteOf(settings, values.url);
  const show = (entry: Entry) => console.log(values.json ? JSON.stringify(entry) : lineOf(entry));
  const query = new URLSearchParams([...filters, ['limit', String(limit)]]);
  const { data } = await remote.call<LogPage>('GET', `/v1/logs?${query}`);
  for (const entry of data.toReversed()) show(entry);
  if (values.follow) await follow(remote, filters, data, show);
}

function filterIn(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new UsageError(`--where ${text} is no filter; write it as name=value.\n\n${USAGE}`);
  return [text.slice(0, at), text.slice(at + 1)];
}

async function follow(
  remote: Remote,
  filters: readonly [string, string][],
  shown: readonly Entry[],
  show: (entry: Entry) => void,
): Promise<never> {
  const began = Math.max(0, ...shown.map(({ created_at }) => created_at));
  /** When the calls of entries began that were shown, or that were there before. */
  const known = new Map(shown.map(({ id, created_at }) => [id, created_at]));
  for (let isFirst = true; ; isFirst = false) {
    const found: Entry[] = [];
    for await (const entry of newestFirst(remote, filters, Date.now() - LOOK_BACK_MS, known)) found.push(entry);
    for (const entry of found.toReversed()) {
      known.set(entry.id, entry.created_at);
      if (!isFirst || entry.created_at > began) show(entry);
    }
    for (const [id, at] of known) if (at < Date.now() - 2 * LOOK_BACK_MS) known.delete(id);
    await Bun.sleep(LOOK_AGAIN_MS);
  }
}

/** Entries that are not known, page by page, until a page has none of them. */
async function* newestFirst(
  remote: Remote,
  filters: readonly [string, string][],
  from: number,
  known: ReadonlyMap<string, number>,
): AsyncGenerator<Entry> {
  for (let after: string | null | undefined = null; ; ) {
    const query = new URLSearchParams([...filters, ['limit', String(PAGE)], ['start_time', String(from)]]);
    if (after) query.set('after', after);
    const page: LogPage = await remote.call<LogPage>('GET', `/v1/logs?${query}`);
    const fresh = page.data.filter(({ id }) => !known.has(id));
    yield* fresh;
    if (fresh.length === 0 || !page.has_more) return;
    after = page.next_cursor;
  }
}

function lineOf(entry: Entry): string {
  const { created_at, status, method, path, provider, model, total_tokens, cost, duration_ms, error_code } = entry;
  const { attempt_count } = entry;
  const parts = [
    new Date(created_at).toISOString(),
    String(status),
    `${method} ${path}`.trim() || 'calls of strangers',
    provider && (model ? `${provider}/${model}` : provider),
    `${Math.round(duration_ms)} ms`,
    (attempt_count ?? 0) > 1 && `${attempt_count} attempts`,
    total_tokens !== null && `${total_tokens} tokens`,
    cost !== null && `$${cost.toFixed(6)}`,
    error_code,
  ];
  // What a stranger puts into a path must not move the cursor of a terminal.
  return parts.filter(Boolean).join('  ').replace(CONTROL, '?');
}

const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;
