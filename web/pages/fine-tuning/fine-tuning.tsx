import { useMemo, useState } from 'react';
import { useApi } from '../../api/hooks.ts';
import type { FineTuningJob } from '../../api/types.d.ts';
import { Badge, type Tone } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { formatNumber } from '../../design/format.ts';
import { Card, PageHeader } from '../../design/layout.tsx';
import { EmptyState } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { useFilters } from '../../shell/filters.ts';
import { useCommands } from '../../shell/palette.tsx';
import { NeedsProvider, usePaying } from '../../shell/paying.tsx';
import { useMay } from '../../shell/session.tsx';
import { useShortcut } from '../../shell/shortcuts.tsx';
import { CreateJob } from './create-job.tsx';
import { JobPanel } from './job-panel.tsx';

const FILTERS = { open: '' };
const MOST = 100;
const LIVE_MS = 2_000;

export const TONES: Readonly<Record<FineTuningJob['status'], Tone>> = {
  validating_files: 'info',
  queued: 'info',
  running: 'accent',
  succeeded: 'good',
  failed: 'bad',
  cancelled: 'plain',
};

export const isGoing = ({ status }: FineTuningJob): boolean =>
  status === 'validating_files' || status === 'queued' || status === 'running';

const COLUMNS: readonly Column<FineTuningJob>[] = [
  {
    id: 'status',
    header: 'State',
    width: '140px',
    sort: ({ status }) => status,
    cell: ({ status }) => (
      <Badge tone={TONES[status]} dot>
        {status.replace('_', ' ')}
      </Badge>
    ),
  },
  { id: 'model', header: 'Model', cell: ({ model }) => <strong>{model}</strong> },
  {
    id: 'result',
    header: 'Becomes',
    hideBelow: 'small',
    cell: ({ fine_tuned_model }) =>
      fine_tuned_model ? <code>{fine_tuned_model}</code> : <span className="soft">–</span>,
  },
  {
    id: 'tokens',
    header: 'Tokens',
    align: 'end',
    hideBelow: 'medium',
    width: '110px',
    cell: ({ trained_tokens }) =>
      trained_tokens === null ? <span className="soft">–</span> : formatNumber(trained_tokens),
  },
  {
    id: 'made',
    header: 'Made',
    hideBelow: 'medium',
    width: '110px',
    cell: ({ created_at }) => (
      <span className="soft">
        <Ago at={created_at * 1_000} />
      </span>
    ),
  },
];

export default function FineTuning() {
  const may = useMay();
  const [filters, setFilters] = useFilters(FILTERS);
  const [isCreating, setCreating] = useState(false);
  const [isLive, setLive] = useState(true);
  const { headers, slug, isMissing } = usePaying();
  const list = useApi(
    '/v1/fine_tuning/jobs',
    { query: { limit: MOST }, headers },
    { enabled: slug !== '', refetchInterval: isLive ? LIVE_MS : false },
  );
  const jobs = list.data?.data;
  const isAnyGoing = jobs === undefined || jobs.some(isGoing);
  if (isAnyGoing !== isLive) setLive(isAnyGoing);
  const mayCreate = may('fine_tuning.write', 'files.write') && !isMissing;
  const begin = useMemo(() => () => setCreating(true), []);
  useShortcut('c', 'Create a job', () => mayCreate && begin());
  useCommands(
    useMemo(
      () => (mayCreate ? [{ label: 'Create a fine-tuning job', icon: 'plus' as const, run: begin }] : []),
      [mayCreate, begin],
    ),
  );
  const create = mayCreate && (
    <Button look="primary" icon="plus" onClick={begin}>
      Create a job
    </Button>
  );
  const opened = jobs?.find(({ id }) => id === filters.open) ?? null;
  return (
    <>
      <PageHeader title="Fine-tuning" about="Models that providers train on examples of yours.">
        {create}
      </PageHeader>
      {isMissing ? (
        <NeedsProvider what="Fine-tuning jobs" />
      ) : (
        <Card isFlush>
          <Table
            label="Fine-tuning jobs"
            rows={jobs}
            columns={COLUMNS}
            rowKey={({ id }) => id}
            onOpen={({ id }) => setFilters({ open: id === filters.open ? '' : id })}
            openKey={filters.open || null}
            error={list.error}
            onRetry={() => void list.refetch()}
            empty={
              <EmptyState icon="spark" title="No jobs yet" action={create}>
                Upload a file with at least ten conversations, choose a model, and watch the loss go down. The provider{' '}
                <code>demo</code> has the whole life of a job in a second.
              </EmptyState>
            }
          />
        </Card>
      )}
      {list.data?.has_more && <p className="soft small">The latest {MOST} are shown.</p>}
      {opened && <JobPanel key={opened.id} job={opened} onClose={() => setFilters({ open: '' })} />}
      {isCreating && (
        <CreateJob
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
