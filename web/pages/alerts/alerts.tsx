import { useMemo, useState } from 'react';
import { useApi } from '../../api/hooks.ts';
import type { Alert, AlertChannel } from '../../api/types.d.ts';
import { Badge, type Tone } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { Card, PageHeader } from '../../design/layout.tsx';
import { Tabs } from '../../design/menu.tsx';
import { EmptyState } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { useFilters } from '../../shell/filters.ts';
import { useCommands } from '../../shell/palette.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { useShortcut } from '../../shell/shortcuts.tsx';
import { AlertPanel } from './alert-panel.tsx';
import { ChannelPanel } from './channel-panel.tsx';
import { channelColumns } from './channels.tsx';
import { words } from './condition.ts';
import { DeleteAlert, DeleteChannel } from './deletions.tsx';
import { EditAlert } from './edit-alert.tsx';
import { EditChannel } from './edit-channel.tsx';

const FILTERS = { tab: 'alerts', open: '' };
const MOST = 200;
/** Alerts are looked at every half minute. */
const REFRESH_MS = 15_000;

export const TONES: Readonly<Record<Alert['status'], Tone>> = {
  firing: 'bad',
  calm: 'good',
  waiting: 'info',
  off: 'plain',
};

type Doing =
  | { readonly what: 'alert'; readonly alert: Alert | null }
  | { readonly what: 'channel'; readonly channel: AlertChannel | null }
  | { readonly what: 'delete'; readonly alert: Alert }
  | { readonly what: 'delete-channel'; readonly channel: AlertChannel }
  | null;

const COLUMNS: readonly Column<Alert>[] = [
  {
    id: 'status',
    header: 'State',
    width: '110px',
    sort: ({ status }) => ['firing', 'waiting', 'calm', 'off'].indexOf(status),
    cell: ({ status }) => (
      <Badge tone={TONES[status]} dot>
        {status}
      </Badge>
    ),
  },
  { id: 'name', header: 'Alert', sort: ({ name }) => name, cell: ({ name }) => <strong>{name}</strong> },
  { id: 'when', header: 'Told when', hideBelow: 'small', cell: ({ condition }) => words(condition) },
  {
    id: 'firing',
    header: 'Holds for',
    align: 'end',
    hideBelow: 'medium',
    width: '110px',
    sort: ({ firing }) => firing.length,
    cell: ({ firing }) => (firing.length > 0 ? firing.length : <span className="soft">–</span>),
  },
  {
    id: 'checked',
    header: 'Looked at',
    hideBelow: 'large',
    width: '120px',
    cell: ({ checked_at }) => <span className="soft">{checked_at ? <Ago at={checked_at} /> : 'not yet'}</span>,
  },
];

export default function Alerts() {
  const { id: workspace_id } = useWorkspace();
  const may = useMay();
  const [filters, setFilters] = useFilters(FILTERS);
  const [doing, setDoing] = useState<Doing>(null);
  const list = { query: { workspace_id, page_size: MOST } };
  const alerts = useApi('/v1/alerts', list, { refetchInterval: REFRESH_MS });
  const channels = useApi('/v1/alert-channels', list, { enabled: may('alert_channels.list') });
  const isChannels = filters.tab === 'channels';
  const mayAlert = may('alerts.create');
  const mayChannel = may('alert_channels.create');
  const mayBegin = isChannels ? mayChannel : mayAlert;
  const begin = useMemo(
    () => () => setDoing(isChannels ? { what: 'channel', channel: null } : { what: 'alert', alert: null }),
    [isChannels],
  );
  const title = isChannels ? 'Create a channel' : 'Create an alert';
  useShortcut('c', title, () => mayBegin && begin());
  useCommands(
    useMemo(() => (mayBegin ? [{ label: title, icon: 'plus' as const, run: begin }] : []), [mayBegin, title, begin]),
  );
  const create = mayBegin && (
    <Button look="primary" icon="plus" onClick={begin}>
      {title}
    </Button>
  );
  const close = () => setFilters({ open: '' });
  const alert = isChannels ? null : (alerts.data?.data.find(({ id }) => id === filters.open) ?? null);
  const channel = isChannels ? (channels.data?.data.find(({ id }) => id === filters.open) ?? null) : null;
  const firing = alerts.data?.data.filter(({ status }) => status === 'firing').length ?? 0;
  const gone = () => {
    setDoing(null);
    close();
  };
  const saved = (id: string) => {
    setDoing(null);
    setFilters({ open: id });
  };
  const open = ({ id }: { id: string }) => setFilters({ open: id === filters.open ? '' : id });
  return (
    <>
      <PageHeader title="Alerts" about="Rules that are looked at every half minute, and where they are told.">
        {create}
      </PageHeader>
      <Tabs
        label="Alerts and channels"
        value={filters.tab}
        onChange={(tab) => setFilters({ tab, open: '' })}
        tabs={[
          {
            value: 'alerts',
            label: firing > 0 ? `Alerts (${firing} firing)` : 'Alerts',
            content: (
              <Card isFlush>
                <Table
                  label="Alerts"
                  rows={alerts.data?.data}
                  columns={COLUMNS}
                  rowKey={({ id }) => id}
                  onOpen={open}
                  openKey={filters.open || null}
                  error={alerts.error}
                  onRetry={() => void alerts.refetch()}
                  empty={
                    <EmptyState icon="bell" title="Nothing is watched yet" action={create}>
                      Be told when a budget runs low, calls fail or are slow, a provider is down, or a key ends soon.
                    </EmptyState>
                  }
                />
              </Card>
            ),
          },
          {
            value: 'channels',
            label: 'Channels',
            content: (
              <Card isFlush>
                <Table
                  label="Channels"
                  rows={channels.data?.data}
                  columns={channelColumns}
                  rowKey={({ id }) => id}
                  onOpen={open}
                  openKey={filters.open || null}
                  error={channels.error}
                  onRetry={() => void channels.refetch()}
                  empty={
                    <EmptyState icon="send" title="No channels yet" action={create}>
                      A channel is where alerts are told: Slack, Teams, mail, or a signed webhook of yours.
                    </EmptyState>
                  }
                />
              </Card>
            ),
          },
        ]}
      />
      {alert && (
        <AlertPanel
          key={alert.id}
          alert={alert}
          channels={channels.data?.data ?? []}
          onClose={close}
          onEdit={may('alerts.update') ? () => setDoing({ what: 'alert', alert }) : null}
          onDelete={may('alerts.delete') ? () => setDoing({ what: 'delete', alert }) : null}
        />
      )}
      {channel && (
        <ChannelPanel
          key={channel.id}
          channel={channel}
          onClose={close}
          onEdit={may('alert_channels.update') ? () => setDoing({ what: 'channel', channel }) : null}
          onDelete={may('alert_channels.delete') ? () => setDoing({ what: 'delete-channel', channel }) : null}
        />
      )}
      {doing?.what === 'alert' && (
        <EditAlert
          alert={doing.alert}
          channels={channels.data?.data ?? []}
          onClose={() => setDoing(null)}
          onSaved={({ id }) => saved(id)}
        />
      )}
      {doing?.what === 'channel' && (
        <EditChannel channel={doing.channel} onClose={() => setDoing(null)} onSaved={({ id }) => saved(id)} />
      )}
      {doing?.what === 'delete' && <DeleteAlert alert={doing.alert} onClose={() => setDoing(null)} onDeleted={gone} />}
      {doing?.what === 'delete-channel' && (
        <DeleteChannel channel={doing.channel} onClose={() => setDoing(null)} onDeleted={gone} />
      )}
    </>
  );
}
