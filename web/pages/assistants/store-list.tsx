import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { VectorStore } from '../../api/types.d.ts';
import { Badge, type Tone } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { FormDialog } from '../../design/dialog.tsx';
import { Field, Input } from '../../design/field.tsx';
import { formatBytes } from '../../design/format.ts';
import { Card, Row, Stack } from '../../design/layout.tsx';
import { EmptyState, Progress } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { useMay } from '../../shell/session.tsx';
import { useShortcut } from '../../shell/shortcuts.tsx';
import { StorePanel } from './store-panel.tsx';

const TONES: Readonly<Record<VectorStore['status'], Tone>> = {
  completed: 'good',
  in_progress: 'accent',
  expired: 'warn',
};
const LIVE_MS = 1_500;

export const Ingestion = ({ store }: { readonly store: VectorStore }) => {
  const { completed, failed, cancelled, total } = store.file_counts;
  const words = `${completed + failed + cancelled} of ${total} files read${failed > 0 ? `, ${failed} failed` : ''}`;
  return (
    <span className="stack gap-1">
      <Progress
        label={words}
        value={completed + failed + cancelled}
        most={Math.max(1, total)}
        tone={failed > 0 ? 'warn' : store.status === 'completed' ? 'good' : 'accent'}
      />
      <span className="small soft numeric">{words}</span>
    </span>
  );
};

const COLUMNS: readonly Column<VectorStore>[] = [
  {
    id: 'name',
    header: 'Vector store',
    sort: ({ name }) => name,
    cell: ({ name, id }) => <strong>{name || id}</strong>,
  },
  {
    id: 'status',
    header: 'State',
    hideBelow: 'small',
    width: '120px',
    cell: ({ status }) => (
      <Badge tone={TONES[status]} dot>
        {status === 'completed' ? 'ready' : status.replace('_', ' ')}
      </Badge>
    ),
  },
  { id: 'files', header: 'Ingestion', width: '200px', cell: (store) => <Ingestion store={store} /> },
  {
    id: 'size',
    header: 'Size',
    align: 'end',
    hideBelow: 'medium',
    width: '100px',
    sort: ({ usage_bytes }) => usage_bytes,
    cell: ({ usage_bytes }) => formatBytes(usage_bytes),
  },
  {
    id: 'used',
    header: 'Last used',
    hideBelow: 'medium',
    width: '120px',
    sort: ({ last_active_at }) => last_active_at,
    cell: ({ last_active_at }) => (
      <span className="soft">
        <Ago at={last_active_at * 1_000} />
      </span>
    ),
  },
];

export function StoreList({ open, onOpen }: { readonly open: string; readonly onOpen: (id: string) => void }) {
  const may = useMay();
  const mayWrite = may('assistants.write');
  const [isCreating, setCreating] = useState(false);
  const [isLive, setLive] = useState(false);
  const list = useApi('/v1/vector_stores', { query: { limit: 100 } }, { refetchInterval: isLive ? LIVE_MS : false });
  const isReading = list.data?.data.some(({ status }) => status === 'in_progress') ?? false;
  if (isReading !== isLive) setLive(isReading);
  useShortcut('c', 'Create a vector store', () => mayWrite && setCreating(true));
  const create = mayWrite && (
    <Button look="primary" icon="plus" onClick={() => setCreating(true)}>
      Create a vector store
    </Button>
  );
  const opened = list.data?.data.find(({ id }) => id === open) ?? null;
  return (
    <Stack gap={3}>
      {list.data && list.data.data.length > 0 && <Row>{create}</Row>}
      <Card isFlush>
        <Table
          label="Vector stores"
          rows={list.data?.data}
          columns={COLUMNS}
          rowKey={({ id }) => id}
          onOpen={({ id }) => onOpen(id === open ? '' : id)}
          openKey={open || null}
          error={list.error}
          onRetry={() => void list.refetch()}
          empty={
            <EmptyState icon="book" title="No vector stores yet" action={create}>
              A vector store holds files that assistants search. The gateway reads, cuts and indexes them itself.
            </EmptyState>
          }
        />
      </Card>
      {list.data?.has_more && <p className="soft small">The latest 100 are shown.</p>}
      {opened && <StorePanel key={opened.id} store={opened} onClose={() => onOpen('')} />}
      {isCreating && (
        <CreateStore
          onClose={() => setCreating(false)}
          onCreated={(id) => {
            setCreating(false);
            onOpen(id);
          }}
        />
      )}
    </Stack>
  );
}

function CreateStore({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void;
  readonly onCreated: (id: string) => void;
}) {
  const [name, setName] = useState('');
  const [days, setDays] = useState('');
  const create = useAction(
    () =>
      api.post('/v1/vector_stores', {
        body: { name, ...(days && { expires_after: { anchor: 'last_active_at', days: Number(days) } }) },
      }),
    { changes: ['/v1/vector_stores'], onDone: ({ id }) => onCreated(id), onFault: () => {} },
  );
  return (
    <FormDialog
      title="Create a vector store"
      about="Files are added when it is made."
      submit="Create the vector store"
      isOpen
      onClose={onClose}
      isBusy={create.isPending}
      fault={create.error}
      onSubmit={() => create.mutate()}
    >
      <Field label="Name">
        {(control) => (
          <Input
            {...control}
            required
            placeholder="Handbook"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field label="Ends when unused for days" isOptional>
        {(control) => (
          <Input
            {...control}
            type="number"
            min="1"
            max="365"
            placeholder="never"
            value={days}
            onChange={(event) => setDays(event.target.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}
