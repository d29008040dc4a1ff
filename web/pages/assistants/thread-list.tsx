import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { Thread } from '../../api/types.d.ts';
import { Button, IconButton } from '../../design/button.tsx';
import { ConfirmByName } from '../../design/dialog.tsx';
import { Card, Row, Stack } from '../../design/layout.tsx';
import { EmptyState } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { NeedsProvider, usePaying } from '../../shell/paying.tsx';
import { useMay } from '../../shell/session.tsx';
import { useShortcut } from '../../shell/shortcuts.tsx';

export function ThreadList({ onThread }: { readonly onThread: (id: string) => void }) {
  const may = useMay();
  const mayWrite = may('assistants.write');
  const [ending, setEnding] = useState<Thread | null>(null);
  const { headers, slug, isMissing } = usePaying();
  const list = useApi('/v1/threads', { query: { limit: 100 }, headers }, { enabled: slug !== '' });
  const begin = useAction(() => api.post('/v1/threads', { body: {}, headers }), {
    changes: ['/v1/threads'],
    onDone: ({ id }) => onThread(id),
  });
  useShortcut('c', 'Begin a thread', () => mayWrite && begin.mutate());
  const create = mayWrite && (
    <Button look="primary" icon="plus" isBusy={begin.isPending} onClick={() => begin.mutate()}>
      Begin a thread
    </Button>
  );
  const columns: readonly Column<Thread>[] = [
    { id: 'id', header: 'Thread', cell: ({ id }) => <code>{id}</code> },
    {
      id: 'metadata',
      header: 'Metadata',
      hideBelow: 'small',
      cell: ({ metadata }) => (
        <span className="soft">
          {Object.entries(metadata)
            .map(([name, value]) => `${name}: ${value}`)
            .join(', ') || '–'}
        </span>
      ),
    },
    {
      id: 'made',
      header: 'Begun',
      width: '120px',
      cell: ({ created_at }) => (
        <span className="soft">
          <Ago at={created_at * 1_000} />
        </span>
      ),
    },
    {
      id: 'more',
      header: <span className="hidden-visually">Actions</span>,
      width: '48px',
      align: 'end',
      cell: (thread) =>
        mayWrite && (
          <IconButton size="small" icon="trash" label={`Delete ${thread.id}`} onClick={() => setEnding(thread)} />
        ),
    },
  ];
  if (isMissing) return <NeedsProvider what="Threads" />;
  return (
    <Stack gap={3}>
      {list.data && list.data.data.length > 0 && <Row>{create}</Row>}
      <Card isFlush>
        <Table
          label="Threads"
          rows={list.data?.data}
          columns={columns}
          rowKey={({ id }) => id}
          onOpen={({ id }) => onThread(id)}
          error={list.error}
          onRetry={() => void list.refetch()}
          empty={
            <EmptyState icon="chat" title="No threads yet" action={create}>
              A thread is a conversation that the gateway keeps. Applications begin them; you can, too.
            </EmptyState>
          }
        />
      </Card>
      {list.data?.has_more && <p className="soft small">The latest 100 are shown.</p>}
      {ending && <DeleteThread thread={ending} onClose={() => setEnding(null)} />}
    </Stack>
  );
}

function DeleteThread({ thread, onClose }: { readonly thread: Thread; readonly onClose: () => void }) {
  const { headers } = usePaying();
  const remove = useAction(() => api.delete('/v1/threads/{thread_id}', { params: { thread_id: thread.id }, headers }), {
    changes: ['/v1/threads'],
    done: 'The thread is deleted.',
    onDone: onClose,
    onFault: () => {},
  });
  return (
    <ConfirmByName
      title="Delete this thread"
      name={thread.id.slice(-8)}
      isOpen
      onClose={onClose}
      isBusy={remove.isPending}
      fault={remove.error}
      onConfirm={() => remove.mutate()}
    >
      All messages of <code>{thread.id}</code>, its runs and their steps are deleted.
    </ConfirmByName>
  );
}
