import type { ReactNode } from 'react';
import type { ResponseOf } from '../../api/client.ts';
import { useApi } from '../../api/hooks.ts';
import { Badge, type Tone } from '../../design/badge.tsx';
import { formatBytes, formatDuration, formatNumber, formatTime } from '../../design/format.ts';
import { Icon, type IconName } from '../../design/icon.tsx';
import { Card, Grid, KeyValue, PageHeader, Stack } from '../../design/layout.tsx';
import { EmptyState, ErrorNote, Note, Skeleton } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { Integrations } from './integrations.tsx';
import { useMetrics } from './metrics.ts';

const REFRESH_MS = 5_000;

type Degraded = ResponseOf<'/health'>['degraded'][number];
type Queue = ResponseOf<'/v1/admin/status'>['queues'][number];

interface Part {
  readonly part: string;
  readonly title: string;
  readonly icon: IconName;
  /** What it is while nothing is wrong with it. */
  readonly well: string;
}

/** Every part that may be degraded, in words. */
const PARTS: readonly Part[] = [
  { part: 'store', title: 'Database', icon: 'layers', well: 'Answers.' },
  { part: 'redis', title: 'Redis', icon: 'gauge', well: 'Nothing is wrong with it.' },
  { part: 'limits', title: 'Limits', icon: 'gauge', well: 'Calls are counted at once.' },
  { part: 'log', title: 'Request log', icon: 'list', well: 'Entries are stored as they come.' },
  { part: 'notify', title: 'News between nodes', icon: 'send', well: 'Changes are known everywhere at once.' },
  { part: 'audit', title: 'Audit records', icon: 'scroll', well: 'Stored with the change itself.' },
  { part: 'audit-seal', title: 'Audit chain', icon: 'shield', well: 'Holds everything this node has seen.' },
  { part: 'audit-witness', title: 'Audit witnesses', icon: 'user', well: 'Told, where there are any.' },
  { part: 'prices', title: 'Prices', icon: 'star', well: 'The list in force can be used.' },
  { part: 'search', title: 'File search', icon: 'search', well: 'By meaning and by words.' },
  { part: 'tracing', title: 'Traces', icon: 'tree', well: 'Taken, where there is a destination.' },
  { part: 'backup', title: 'Backups', icon: 'copy', well: 'Made in time, where they are set up.' },
  { part: 'secrets', title: 'Secret stores', icon: 'key', well: 'Give what is asked, where there are any.' },
  { part: 'export', title: 'Export of the log', icon: 'download', well: 'Taken, where there is a bucket.' },
];

const COLUMNS: readonly Column<Queue>[] = [
  { id: 'kind', header: 'Work', sort: ({ kind }) => kind, cell: ({ kind }) => <strong>{kind}</strong> },
  {
    id: 'running',
    header: 'Under way',
    align: 'end',
    sort: ({ running }) => running,
    cell: ({ running }) => formatNumber(running),
  },
  {
    id: 'waiting',
    header: 'Waiting',
    align: 'end',
    sort: ({ waiting }) => waiting,
    cell: ({ waiting }) => formatNumber(waiting),
  },
  { id: 'later', header: 'Due later', align: 'end', hideBelow: 'small', cell: ({ later }) => formatNumber(later) },
  {
    id: 'retried',
    header: 'Tried again',
    align: 'end',
    hideBelow: 'small',
    cell: ({ retried }) => formatNumber(retried),
  },
  {
    id: 'oldest',
    header: 'Oldest waits',
    align: 'end',
    cell: ({ oldest_ms }) => (oldest_ms === null ? <span className="soft">–</span> : formatDuration(oldest_ms)),
  },
];

export default function Health() {
  const health = useApi('/health', {}, { refetchInterval: REFRESH_MS });
  const ready = useApi('/ready', {}, { refetchInterval: REFRESH_MS });
  const status = useApi('/v1/admin/status', {}, { refetchInterval: REFRESH_MS });
  const metrics = useMetrics(REFRESH_MS);
  const degraded = health.data?.degraded ?? [];
  const isReady = ready.data?.store === 'ok';
  return (
    <>
      <PageHeader title="Health" about="How the node that answers you is, and what the installation has to do.">
        <Overall isKnown={health.data !== undefined} count={degraded.length} isReady={isReady || !ready.isFetched} />
      </PageHeader>
      <Stack gap={6}>
        {health.error && <ErrorNote error={health.error} onRetry={() => void health.refetch()} />}
        {degraded.map((each) => (
          <Note key={each.part} tone="warn">
            <strong>{titleOf(each)}</strong>: {each.effect}{' '}
            <span className="small">Since {formatTime(each.since)}.</span>
          </Note>
        ))}
        {health.data?.notes?.map((note) => (
          <Note key={note}>{note}</Note>
        ))}
        <Figures status={status.data} metrics={metrics} />
        <Card title="Background work" about="Batches, runs, ingestion and the like, over all nodes." isFlush>
          <Table
            label="Background work"
            rows={status.data?.queues}
            columns={COLUMNS}
            rowKey={({ kind }) => kind}
            error={status.error}
            onRetry={() => void status.refetch()}
            empty={
              <EmptyState icon="check" title="Nothing waits">
                Batches, assistant runs and files that are read appear here while they are worked on.
              </EmptyState>
            }
          />
        </Card>
        <Integrations everyMs={REFRESH_MS} metrics={metrics} />
        <Card title="Parts">
          <ul className="health-parts">
            {PARTS.map((part) => (
              <PartRow
                key={part.part}
                part={part}
                fault={degraded.find((each) => each.part === part.part) ?? null}
                isMissing={part.part === 'redis' && status.data?.redis === 'none'}
              />
            ))}
          </ul>
        </Card>
      </Stack>
    </>
  );
}

const titleOf = ({ part }: Degraded) => PARTS.find((each) => each.part === part)?.title ?? part;

const Overall = ({
  isKnown,
  count,
  isReady,
}: {
  readonly isKnown: boolean;
  readonly count: number;
  readonly isReady: boolean;
}) => {
  const [tone, words]: readonly [Tone, string] = !isKnown
    ? ['plain', 'asking']
    : !isReady
      ? ['bad', 'takes no traffic']
      : count > 0
        ? ['warn', `${count} degraded`]
        : ['good', 'all is well'];
  return (
    <span className="health-overall" role="status">
      <Badge tone={tone} dot>
        {words}
      </Badge>
    </span>
  );
};

function PartRow({
  part,
  fault,
  isMissing,
}: {
  readonly part: Part;
  readonly fault: Degraded | null;
  readonly isMissing: boolean;
}) {
  return (
    <li>
      <Icon name={part.icon} />
      <strong>{part.title}</strong>
      <span className={fault ? '' : 'soft'}>
        {fault ? fault.effect : isMissing ? 'Not set up: the database counts.' : part.well}
      </span>
      <Badge tone={fault ? 'warn' : isMissing ? 'plain' : 'good'} dot>
        {fault ? 'degraded' : isMissing ? 'none' : 'well'}
      </Badge>
    </li>
  );
}

const STORES = { sqlite: 'embedded (SQLite)', postgres: 'PostgreSQL' } as const;

function Figures({
  status,
  metrics,
}: {
  readonly status: ResponseOf<'/v1/admin/status'> | undefined;
  readonly metrics: ReturnType<typeof useMetrics>;
}) {
  if (!status) return <Skeleton lines={3} />;
  const figure = (name: string, show: (value: number) => ReactNode) => {
    const value = metrics.sum(name);
    return value === null ? '–' : show(value);
  };
  return (
    <Grid least={300}>
      <Card title="Installation">
        <KeyValue
          rows={[
            ['Version', <code key="version">{status.version}</code>],
            ['Store', STORES[status.store]],
            ['Redis', status.redis === 'used' ? 'used for limits' : 'none'],
            ['Started', <Ago key="started" at={status.started_at} />],
          ]}
        />
      </Card>
      <Card title="This node">
        <KeyValue
          rows={[
            ['Memory', figure('process_resident_memory_bytes', formatBytes)],
            ['Processor', metrics.cpu === null ? '–' : `${Math.round(metrics.cpu * 100)} % of a core`],
            ['Open requests', figure('gateway_open_requests', formatNumber)],
            ['Log entries that wait', figure('gateway_log_queue_records', formatNumber)],
          ]}
        />
      </Card>
      <Card title="Workers" about="Nodes that do background work now.">
        {status.nodes.length === 0 ? (
          <p className="soft">Idle: there is nothing to do.</p>
        ) : (
          <KeyValue
            rows={status.nodes.map(({ node, running }) => [<code key={node}>{node}</code>, `${running} under way`])}
          />
        )}
      </Card>
    </Grid>
  );
}
