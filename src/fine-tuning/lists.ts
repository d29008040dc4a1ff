import * as z from 'zod';
import type { WorkspaceId } from '../core/ids.ts';
import { type Bounds, listPage, listQuery } from '../core/list.ts';
import { type Checked, schemaOf } from '../core/schema.ts';
import { unixSeconds } from '../core/unix-seconds.ts';
import { withinBounds } from '../storage/keyset.ts';
import type { FineTuningCheckpointRow, FineTuningEventRow, FineTuningJobRow } from '../storage/schema.ts';
import type { Store } from '../storage/store.ts';
import { type JobObject, jobObject, shownJob } from './job.ts';
import { jobIn } from './table.ts';

/** The vendor states no bound; this one keeps a page in memory. */
const MOST_LISTED = 10_000;

const pageQuery = () => listQuery({ most: MOST_LISTED }).pick({ after: true, limit: true });
export const eventQuery = pageQuery;
export const checkpointQuery = () => listQuery({ most: MOST_LISTED, usual: 10 }).pick({ after: true, limit: true });

const FILTER = /^metadata\[(.+)\]$/;

/** `metadata[team]=search` asks for jobs with that pair, `metadata=null` for jobs without any. */
export const jobQuery = () =>
  pageQuery()
    .extend({ metadata: z.enum(['null', '']).optional().describe('Only jobs without metadata.') })
    .catchall(z.string())
    .superRefine((query, context) => {
      const keys = Object.keys(query).filter((name) => !(name in schemaOf(pageQuery).shape) && name !== 'metadata');
      const unknown = keys.filter((name) => !FILTER.test(name));
      if (unknown.length > 0) context.addIssue({ code: 'unrecognized_keys', keys: unknown, input: query });
    });
export type JobQuery = Checked<typeof jobQuery>;

const level = () => z.enum(['info', 'warn', 'error']);
export const eventObject = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('fine_tuning.job.event'),
      created_at: z.number().int(),
      level: level(),
      message: z.string(),
      type: z.enum(['message', 'metrics']),
      data: z.unknown(),
    })
    .meta({ id: 'FineTuningJobEvent' });

export const checkpointObject = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('fine_tuning.job.checkpoint'),
      created_at: z.number().int(),
      fine_tuned_model_checkpoint: z.string(),
      fine_tuning_job_id: z.string(),
      step_number: z.number().int(),
      metrics: z.record(z.string(), z.number()),
    })
    .meta({ id: 'FineTuningJobCheckpoint' });

const listOf = <Item extends z.ZodType>(item: () => Item) =>
  z.object({ object: z.literal('list'), data: z.array(schemaOf(item)), has_more: z.boolean() });
export const jobList = () => listOf(jobObject);
export const eventList = () => listOf(eventObject);
export const checkpointList = () =>
  listOf(checkpointObject).extend({
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
  });

const shownEvent = (row: FineTuningEventRow): Checked<typeof eventObject> => ({
  id: row.id,
  object: 'fine_tuning.job.event',
  created_at: unixSeconds(row.created_at),
  level: row.level,
  message: row.message,
  type: row.type,
  data: row.data === null ? null : JSON.parse(row.data),
});

const shownCheckpoint = (row: FineTuningCheckpointRow): Checked<typeof checkpointObject> => ({
  id: row.id,
  object: 'fine_tuning.job.checkpoint',
  created_at: unixSeconds(row.created_at),
  fine_tuned_model_checkpoint: row.model,
  fine_tuning_job_id: row.job_id,
  step_number: row.step_number,
  metrics: JSON.parse(row.metrics),
});

interface Page {
  readonly after?: string;
  readonly limit: number;
}

/** Jobs, events and checkpoints, newest first. */
export function createLists({ store }: { store: Store }) {
  const jobs = (workspaceId: WorkspaceId) =>
    store.db.selectFrom('fine_tuning_jobs').selectAll().where('workspace_id', '=', workspaceId);
  const events = (jobId: string) => store.db.selectFrom('fine_tuning_events').selectAll().where('job_id', '=', jobId);
  const checkpoints = (jobId: string) =>
    store.db.selectFrom('fine_tuning_checkpoints').selectAll().where('job_id', '=', jobId);

  return {
    async jobs(workspaceId: WorkspaceId, query: JobQuery) {
      const isWanted = filterOf(query);
      const { data, has_more } = await listPage(newestFirst(query), 'fineTuningJob', {
        has: async (id) => (await jobs(workspaceId).where('id', '=', id).executeTakeFirst()) !== undefined,
        between: (bounds) =>
          isWanted
            ? filtered(bounds, isWanted, (part) => withinBounds(jobs(workspaceId), part).execute())
            : withinBounds(jobs(workspaceId), bounds).execute(),
      });
      return { object: 'list', data: data.map((row): JobObject => shownJob(jobIn(row))), has_more };
    },

    async events(jobId: string, query: Page) {
      const { data, has_more } = await listPage(newestFirst(query), 'fineTuningEvent', {
        has: async (id) => (await events(jobId).where('id', '=', id).executeTakeFirst()) !== undefined,
        between: (bounds) => withinBounds(events(jobId), bounds).execute(),
      });
      return { object: 'list', data: data.map(shownEvent), has_more };
    },

    async checkpoints(jobId: string, query: Page) {
      const { data, has_more } = await listPage(newestFirst(query), 'fineTuningCheckpoint', {
        has: async (id) => (await checkpoints(jobId).where('id', '=', id).executeTakeFirst()) !== undefined,
        between: (bounds) => withinBounds(checkpoints(jobId), bounds).execute(),
      });
      return {
        object: 'list',
        data: data.map(shownCheckpoint),
        first_id: data[0]?.id ?? null,
        last_id: data.at(-1)?.id ?? null,
        has_more,
      };
    },
  };
}

export type Lists = ReturnType<typeof createLists>;

const newestFirst = ({ after, limit }: Page) => ({ after, limit, order: 'desc' as const });

type IsWanted = (row: FineTuningJobRow) => boolean;

function filterOf(query: JobQuery): IsWanted | null {
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    const key = FILTER.exec(name)?.[1];
    return key === undefined ? [] : [[key, value] as const];
  });
  if (query.metadata === undefined && pairs.length === 0) return null;
  return (row) => {
    const { metadata } = jobIn(row).request;
    if (query.metadata !== undefined && Object.keys(metadata).length > 0) return false;
    return pairs.every(([key, value]) => Object.hasOwn(metadata, key) && metadata[key] === value);
  };
}

const AT_ONCE = 500;

/** Both stores keep metadata as text, so pairs are compared here, part by part. */
async function filtered(
  bounds: Bounds,
  isWanted: IsWanted,
  read: (bounds: Bounds) => Promise<FineTuningJobRow[]>,
): Promise<FineTuningJobRow[]> {
  const found: FineTuningJobRow[] = [];
  let { below } = bounds;
  for (;;) {
    const rows = await read({ ...bounds, below, limit: AT_ONCE });
    found.push(...rows.filter(isWanted));
    if (found.length >= bounds.limit || rows.length < AT_ONCE) return found.slice(0, bounds.limit);
    below = rows.at(-1)!.id;
  }
}
