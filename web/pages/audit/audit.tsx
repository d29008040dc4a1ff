import { useMemo } from 'react';
import { useApi } from '../../api/hooks.ts';
import type { AuditRecord } from '../../api/types.d.ts';
import { Badge, type Tone } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { Input, Select } from '../../design/field.tsx';
import { formatNumber } from '../../design/format.ts';
import { Icon } from '../../design/icon.tsx';
import { Card, PageHeader, Row, Stack } from '../../design/layout.tsx';
import { EmptyState, Skeleton } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { useFilters } from '../../shell/filters.ts';
import { nameOf, useMay, useWorkspace } from '../../shell/session.tsx';
import { RecordPanel } from './record-panel.tsx';
import { ChainBadge } from './verification.tsx';

const FILTERS = { days: 7, resource: '', action: '', who: '', status: '', here: false, page: 0, open: '' };
const PAGE = 100;
const NOBODY = '00000000-0000-0000-0000-000000000000';
const HOUR_MS = 3_600_000;
const ALL = 100_000;

const RANGES = [
  { value: '1', label: 'Last 24 hours' },
  { value: '7', label: 'Last 7 days' },
  { value: '30', label: 'Last 30 days' },
  { value: '90', label: 'Last 90 days' },
  { value: String(ALL), label: 'From the beginning' },
];
const RESOURCES = [
  'alerts',
  'alert_channels',
  'analytics',
  'api_keys',
  'authentication',
  'budgets',
  'configs',
  'erasures',
  'guardrails',
  'invites',
  'mcp_apps',
  'mcp_connections',
  'mcp_consents',
  'mcp_servers',
  'mcp_tool_sets',
  'organisation',
  'policies',
  'prices',
  'sessions',
  'users',
  'virtual_keys',
  'views',
  'webhooks',
  'workspaces',
  'workspace_users',
].map((value) => ({ value, label: value.replaceAll('_', ' ') }));
const ACTIONS = ['create', 'update', 'delete', 'rotate', 'test', 'reset', 'left_out'].map((value) => ({
  value,
  label: value.replaceAll('_', ' '),
}));

export const toneOf = (status: number): Tone => (status < 400 ? 'good' : status < 500 ? 'warn' : 'bad');

/** People and keys by their ids: the log has only those. */
export function useNames(): (record: AuditRecord) => string {
  const may = useMay();
  const { id: workspace_id } = useWorkspace();
  const users = useApi('/v1/admin/users', { query: { page_size: 500 } }, { enabled: may('users.list') });
  const keys = useApi('/v1/api-keys', { query: { workspace_id, page_size: 500 } }, { enabled: may('api_keys.list') });
  return useMemo(() => {
    const names = new Map<string, string>([[NOBODY, 'a stranger']]);
    for (const user of users.data?.data ?? []) names.set(user.id, nameOf(user));
    for (const key of keys.data?.data ?? []) names.set(key.id, key.name);
    return ({ user_id, user_type }) =>
      names.get(user_id) ?? `${user_type === 'user' ? 'user' : 'key'} ${user_id.slice(-8)}`;
  }, [users.data, keys.data]);
}

export default function Audit() {
  const [filters, setFilters] = useFilters(FILTERS);
  const organisation = useApi('/v1/admin/organisation');
  return (
    <>
      <PageHeader
        title="Audit log"
        about="Who changed what, and who was refused to. Records are chained: none can be altered unseen."
      >
        <ChainBadge organisation={organisation.data?.id ?? null} />
      </PageHeader>
      {organisation.data ? (
        <Records organisation={organisation.data.id} filters={filters} setFilters={setFilters} />
      ) : (
        <Skeleton lines={6} />
      )}
    </>
  );
}

type FiltersNow = ReturnType<typeof useFilters<typeof FILTERS>>;

/** Whole hours, so that pages and exports of one filter mean the same records for a while. */
function useRange(days: number) {
  return useMemo(() => {
    const end = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS;
    const start = days >= ALL ? 0 : end - days * 24 * HOUR_MS;
    return { start_time: new Date(start).toISOString(), end_time: new Date(end).toISOString() };
  }, [days]);
}

function Records({
  organisation,
  filters,
  setFilters,
}: {
  readonly organisation: string;
  readonly filters: FiltersNow[0];
  readonly setFilters: FiltersNow[1];
}) {
  const workspace = useWorkspace();
  const nameOfActor = useNames();
  const range = useRange(filters.days);
  const query = {
    ...range,
    organisation_id: organisation,
    ...(filters.resource && { resource_type: filters.resource }),
    ...(filters.action && { action: filters.action }),
    ...(filters.who && { user_id: filters.who }),
    ...(/^[1-5]\d\d$/.test(filters.status) && { response_status_code: Number(filters.status) }),
    ...(filters.here && { workspace_id: workspace.id }),
  };
  const list = useApi('/v1/audit-logs', { query: { ...query, current_page: filters.page, page_size: PAGE } });
  const narrow = (change: Partial<FiltersNow[0]>) => setFilters({ ...change, page: 0, open: '' });
  const columns = useMemo(
    (): readonly Column<AuditRecord>[] => [
      {
        id: 'when',
        header: 'When',
        width: '110px',
        cell: ({ timestamp }) => (
          <span className="soft">
            <Ago at={timestamp} />
          </span>
        ),
      },
      {
        id: 'who',
        header: 'Who',
        cell: (record) => (
          <span className="line gap-2 audit-who">
            <Icon name={record.user_id === NOBODY ? 'warn' : record.user_type === 'user' ? 'user' : 'key'} size={14} />
            <strong className="truncate">{nameOfActor(record)}</strong>
          </span>
        ),
      },
      {
        id: 'what',
        header: 'What',
        cell: ({ action, resource_type }) => (
          <>
            {action.replaceAll('_', ' ')} <span className="soft">{resource_type.replaceAll('_', ' ')}</span>
          </>
        ),
      },
      { id: 'uri', header: 'Path', hideBelow: 'medium', cell: ({ uri }) => <code className="soft">{uri}</code> },
      {
        id: 'status',
        header: 'Outcome',
        width: '100px',
        cell: ({ response_status_code: status }) => (
          <Badge tone={toneOf(status)} dot>
            {status < 400 ? 'done' : `refused ${status}`}
          </Badge>
        ),
      },
      {
        id: 'ip',
        header: 'From',
        hideBelow: 'large',
        cell: ({ client_ip }) => <span className="soft">{client_ip}</span>,
      },
    ],
    [nameOfActor],
  );
  const records = list.data?.records;
  const total = list.data?.total ?? 0;
  const opened = records?.find(({ request_id, timestamp }) => `${request_id} ${timestamp}` === filters.open) ?? null;
  const exported = `/v1/audit-logs/export?${new URLSearchParams(
    Object.entries(query).map(([name, value]) => [name, String(value)]),
  )}`;
  return (
    <Stack gap={3}>
      <Row>
        <Select
          aria-label="Time"
          value={String(filters.days)}
          choices={RANGES}
          onChange={(days) => narrow({ days: Number(days) })}
        />
        <Select
          aria-label="Of what"
          value={filters.resource}
          choices={[{ value: '', label: 'Everything' }, ...RESOURCES]}
          onChange={(resource) => narrow({ resource })}
        />
        <Select
          aria-label="Action"
          value={filters.action}
          choices={[{ value: '', label: 'Any action' }, ...ACTIONS]}
          onChange={(action) => narrow({ action })}
        />
        <Input
          aria-label="Status"
          className="audit-status"
          placeholder="Status"
          inputMode="numeric"
          maxLength={3}
          value={filters.status}
          onChange={(event) => narrow({ status: event.target.value })}
        />
        <Select
          aria-label="Where"
          value={filters.here ? 'here' : 'all'}
          choices={[
            { value: 'all', label: 'Every workspace' },
            { value: 'here', label: `Only ${workspace.slug}` },
          ]}
          onChange={(where) => narrow({ here: where === 'here' })}
        />
        {filters.who && (
          <Button size="small" icon="close" onClick={() => narrow({ who: '' })}>
            One person or key
          </Button>
        )}
        <span className="audit-room" />
        <a className="button button-plain button-medium" href={exported} download="audit-log.jsonl">
          <Icon name="download" />
          Export
        </a>
      </Row>
      <Card isFlush>
        <Table
          label="Audit records"
          rows={records}
          columns={columns}
          rowKey={({ request_id, timestamp }) => `${request_id} ${timestamp}`}
          onOpen={({ request_id, timestamp }) => {
            const key = `${request_id} ${timestamp}`;
            setFilters({ open: key === filters.open ? '' : key });
          }}
          openKey={filters.open || null}
          error={list.error}
          onRetry={() => void list.refetch()}
          empty={
            <EmptyState icon="scroll" title="No record fits">
              Nothing was changed, and nobody was refused, in that time. Take a longer one, or fewer filters.
            </EmptyState>
          }
        />
      </Card>
      {total > 0 && (
        <Row>
          <span className="soft small">
            {formatNumber(filters.page * PAGE + 1)} to {formatNumber(Math.min(total, (filters.page + 1) * PAGE))} of{' '}
            {formatNumber(total)}
          </span>
          {filters.page > 0 && (
            <Button size="small" icon="left" onClick={() => setFilters({ page: filters.page - 1, open: '' })}>
              Newer
            </Button>
          )}
          {(filters.page + 1) * PAGE < total && (
            <Button size="small" icon="right" onClick={() => setFilters({ page: filters.page + 1, open: '' })}>
              Older
            </Button>
          )}
        </Row>
      )}
      {opened && (
        <RecordPanel
          record={opened}
          who={nameOfActor(opened)}
          onClose={() => setFilters({ open: '' })}
          onSameActor={() => narrow({ who: opened.user_id })}
        />
      )}
    </Stack>
  );
}
