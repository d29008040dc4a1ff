import { useMemo, useState } from 'react';
import { useApi } from '../../api/hooks.ts';
import type { Webhook } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { Card, PageHeader } from '../../design/layout.tsx';
import { EmptyState } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { useFilters } from '../../shell/filters.ts';
import { useCommands } from '../../shell/palette.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { useShortcut } from '../../shell/shortcuts.tsx';
import { Delivered } from '../alerts/channels.tsx';
import { DeleteWebhook } from './delete-webhook.tsx';
import { EditWebhook } from './edit-webhook.tsx';
import { WebhookPanel } from './webhook-panel.tsx';

const FILTERS = { open: '' };
const MOST = 200;

type Doing = { readonly what: 'edit' | 'delete'; readonly webhook: Webhook } | { readonly what: 'create' } | null;

const COLUMNS: readonly Column<Webhook>[] = [
  {
    id: 'name',
    header: 'Webhook',
    sort: ({ name }) => name,
    cell: ({ name, is_enabled }) => (
      <span className="line gap-2">
        <strong>{name}</strong>
        {!is_enabled && <Badge>off</Badge>}
      </span>
    ),
  },
  { id: 'where', header: 'Goes to', hideBelow: 'small', cell: ({ url }) => <span className="soft">{url}</span> },
  {
    id: 'events',
    header: 'Told of',
    hideBelow: 'medium',
    width: '120px',
    cell: ({ events }) => (events.length === 1 ? 'one event' : `${events.length} events`),
  },
  {
    id: 'last',
    header: 'Last told',
    width: '190px',
    cell: ({ last_delivery }) => <Delivered delivery={last_delivery} />,
  },
];

export default function Webhooks() {
  const { id: workspace_id, slug } = useWorkspace();
  const may = useMay();
  const [filters, setFilters] = useFilters(FILTERS);
  const [doing, setDoing] = useState<Doing>(null);
  const list = useApi('/v1/webhooks', { query: { workspace_id, page_size: MOST } });
  const mayCreate = may('webhooks.create');
  const begin = useMemo(() => () => setDoing({ what: 'create' }), []);
  useShortcut('c', 'Create a webhook', () => mayCreate && begin());
  useCommands(
    useMemo(
      () => (mayCreate ? [{ label: 'Create a webhook', icon: 'plus' as const, run: begin }] : []),
      [mayCreate, begin],
    ),
  );
  const create = mayCreate && (
    <Button look="primary" icon="plus" onClick={begin}>
      Create a webhook
    </Button>
  );
  const opened = list.data?.data.find(({ id }) => id === filters.open) ?? null;
  const close = () => setDoing(null);
  return (
    <>
      <PageHeader
        title="Webhooks"
        about={`Programs that are told when batches and fine-tuning jobs of the workspace ${slug} end.`}
      >
        {list.data && list.data.data.length > 0 && create}
      </PageHeader>
      <Card isFlush>
        <Table
          label="Webhooks"
          rows={list.data?.data}
          columns={COLUMNS}
          rowKey={({ id }) => id}
          onOpen={({ id }) => setFilters({ open: id === filters.open ? '' : id })}
          openKey={filters.open || null}
          error={list.error}
          onRetry={() => void list.refetch()}
          empty={
            <EmptyState icon="send" title="No webhooks yet" action={create}>
              A signed message to an address of yours at the end of each batch and fine-tuning job, so that no program
              has to ask again and again.
            </EmptyState>
          }
        />
      </Card>
      {opened && (
        <WebhookPanel
          key={opened.id}
          webhook={opened}
          onClose={() => setFilters({ open: '' })}
          onEdit={may('webhooks.update') ? () => setDoing({ what: 'edit', webhook: opened }) : null}
          onDelete={may('webhooks.delete') ? () => setDoing({ what: 'delete', webhook: opened }) : null}
        />
      )}
      {doing?.what === 'create' && <EditWebhook webhook={null} onClose={close} />}
      {doing?.what === 'edit' && <EditWebhook webhook={doing.webhook} onClose={close} />}
      {doing?.what === 'delete' && (
        <DeleteWebhook
          webhook={doing.webhook}
          onClose={close}
          onDeleted={() => {
            close();
            setFilters({ open: '' });
          }}
        />
      )}
    </>
  );
}
