import { useMemo, useState } from 'react';
import { useApi } from '../../api/hooks.ts';
import type { Batch } from '../../api/types.d.ts';
import { Badge, type Tone } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { formatNumber } from '../../design/format.ts';
import { Card, PageHeader } from '../../design/layout.tsx';
import { EmptyState, Progress } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { useFilters } from '../../shell/filters.ts';
import { useCommands } from '../../shell/palette.tsx';
import { NeedsProvider, usePaying } from '../../shell/paying.tsx';
import { useMay } from '../../shell/session.tsx';
import { useShortcut } from '../../shell/shortcuts.tsx';
import { BatchPanel } from './batch-panel.tsx';
import { CreateBatch } from './create-batch.tsx';

const FILTERS = { open: '' };
const MOST = 100;
const LIVE_MS = 2_000;

export const TONES: Readonly<Record<Batch['status'], Tone>> = {
  validating: 'info',
  in_progress: 'accent',
  finalizing: 'accent',
  completed: 'good',
  failed: 'bad',
  expired: 'warn',
  cancelling: 'warn',
  cancelled: 'plain',
};

const GOING: readonly Batch['status'][] = ['validating', 'in_progress', 'finalizing', 'cancelling'];
export const isGoing = ({ status }: Batch): boolean => GOING.includes(status);

/** How many requests a second so far, and how many seconds are left at that rate. */
export function paceOf({ request_counts, in_progress_at, status }: Batch, now = Date.now()) {
  const done = request_counts.completed + request_counts.failed;
  if (status !== 'in_progress' || in_progress_at === null || done === 0) return null;
  const seconds = Math.max(0.5, now / 1_000 - in_progress_at);
  const rate = done / seconds;
  return { rate, secondsLeft: (request_counts.total - done) / rate };
}

export const nameOfBatch = ({ metadata, id }: Batch): string =>
  metadata.name || metadata.description || `…${id.slice(-8)}`;

const COLUMNS: readonly Column<Batch>[] = [
  {
    id: 'status',
    header: 'State',
    width: '120px',
    sort: ({ status }) => status,
    cell: ({ status }) => (
      <Badge tone={TONES[status]} dot>
        {status.replace('_', ' ')}
      </Badge>
    ),
  },
  { id: 'name', header: 'Batch', cell: (batch) => <strong>{nameOfBatch(batch)}</strong> },
  {
    id: 'model',
    header: 'Model',
    hideBelow: 'medium',
    cell: ({ model }) => model ?? <span className="soft">several</span>,
  },
  {
    id: 'progress',
    header: 'Progress',
    width: '220px',
    cell: (batch) => <BatchProgress batch={batch} />,
  },
  {
    id: 'failed',
    header: 'Failed',
    align: 'end',
    hideBelow: 'small',
    width: '80px',
    cell: ({ request_counts: { failed } }) => (failed > 0 ? formatNumber(failed) : <span className="soft">–</span>),
  },
  {
    id: 'made',
    header: 'Made',
    hideBelow: 'medium',
    width: '110px',
    sort: ({ created_at }) => created_at,
    cell: ({ created_at }) => (
      <span className="soft">
        <Ago at={created_at * 1_000} />
      </span>
    ),
  },
];

export const BatchProgress = ({ batch }: { readonly batch: Batch }) => {
  const { completed, failed, total } = batch.request_counts;
  const words = `${formatNumber(completed + failed)} of ${formatNumber(total)}`;
  return (
    <span className="stack gap-1">
      <Progress
        label={words}
        value={batch.status === 'validating' ? undefined : completed + failed}
        most={total}
        tone={batch.status === 'completed' ? 'good' : batch.status === 'failed' ? 'bad' : 'accent'}
      />
      <span className="small numeric soft">{words}</span>
    </span>
  );
};

export default function Batches() {
  const may = useMay();
  const [filters, setFilters] = useFilters(FILTERS);
  const [isCreating, setCreating] = useState(false);
  const [isLive, setLive] = useState(true);
  const { headers, slug, isMissing } = usePaying();
  const list = useApi(
    '/v1/batches',
    { query: { limit: MOST }, headers },
    { enabled: slug !== '', refetchInterval: isLive ? LIVE_MS : false },
  );
  const batches = list.data?.data;
  const isAnyGoing = batches === undefined || batches.some(isGoing);
  if (isAnyGoing !== isLive) setLive(isAnyGoing);
  const mayCreate = may('batches.write', 'files.write') && !isMissing;
  const begin = useMemo(() => () => setCreating(true), []);
  useShortcut('c', 'Create a batch', () => mayCreate && begin());
  useCommands(
    useMemo(
      () => (mayCreate ? [{ label: 'Create a batch', icon: 'plus' as const, run: begin }] : []),
      [mayCreate, begin],
    ),
  );
  const create = mayCreate && (
    <Button look="primary" icon="plus" onClick={begin}>
      Create a batch
    </Button>
  );
  const opened = batches?.find(({ id }) => id === filters.open) ?? null;
  return (
    <>
      <PageHeader title="Batches" about="Many requests in one file, answered within a day, often at half the price.">
        {create}
      </PageHeader>
      {isMissing ? (
        <NeedsProvider what="Batches" />
      ) : (
        <Card isFlush>
          <Table
            label="Batches"
            rows={batches}
            columns={COLUMNS}
            rowKey={({ id }) => id}
            onOpen={({ id }) => setFilters({ open: id === filters.open ? '' : id })}
            openKey={filters.open || null}
            error={list.error}
            onRetry={() => void list.refetch()}
            empty={
              <EmptyState icon="layers" title="No batches yet" action={create}>
                Upload a file with a request on each line. The gateway, or the provider, works through it and goes on
                when a process dies.
              </EmptyState>
            }
          />
        </Card>
      )}
      {list.data?.has_more && <p className="soft small">The latest {MOST} are shown.</p>}
      {opened && <BatchPanel key={opened.id} batch={opened} onClose={() => setFilters({ open: '' })} />}
      {isCreating && (
        <CreateBatch
          onClose={() => setCreating(false)}
          onCreated={({ id }) => {
            setCreating(false);
            setLive(true);
            setFilters({ open: id });
          }}
        />
      )}
    </>
  );
}
