import { useState } from 'react';
import { api } from '../../api/client.ts';
import { download } from '../../api/files.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { Container, ContainerFile } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { Button, IconButton } from '../../design/button.tsx';
import { ConfirmByName, SidePanel } from '../../design/dialog.tsx';
import { formatBytes, formatDuration, formatTime } from '../../design/format.ts';
import { Card, KeyValue, Row, Stack } from '../../design/layout.tsx';
import { EmptyState, ErrorNote, Skeleton } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { useMay } from '../../shell/session.tsx';

export const nameOfContainer = ({ name, id }: Container): string => name || `…${id.slice(-8)}`;

const endsAt = ({ last_active_at, expires_after }: Container): number =>
  (last_active_at + expires_after.minutes * 60) * 1_000;

/** In words: nothing can be put into it any more, or how long it stays when nobody uses it. */
const lifeOf = (container: Container): string =>
  container.status === 'expired' ? 'over' : `in ${formatDuration(Math.max(0, endsAt(container) - Date.now()))}`;

const COLUMNS: readonly Column<Container>[] = [
  {
    id: 'status',
    header: 'State',
    width: '110px',
    cell: ({ status }) => (
      <Badge tone={status === 'active' ? 'good' : 'plain'} dot>
        {status}
      </Badge>
    ),
  },
  { id: 'name', header: 'Container', cell: (container) => <strong>{nameOfContainer(container)}</strong> },
  {
    id: 'used',
    header: 'Used',
    hideBelow: 'small',
    width: '120px',
    cell: ({ last_active_at }) => (
      <span className="soft">
        <Ago at={last_active_at * 1_000} />
      </span>
    ),
  },
  {
    id: 'ends',
    header: 'Expires',
    width: '130px',
    cell: (container) => <span className="soft">{lifeOf(container)}</span>,
  },
];

const MOST = 100;

export function ContainerList({ open, onOpen }: { readonly open: string; readonly onOpen: (id: string) => void }) {
  const list = useApi('/v1/containers', { query: { limit: MOST } });
  return (
    <Stack gap={3}>
      <Card isFlush>
        <Table
          label="Containers"
          rows={list.data?.data}
          columns={COLUMNS}
          rowKey={({ id }) => id}
          onOpen={({ id }) => onOpen(id === open ? '' : id)}
          openKey={open || null}
          error={list.error}
          onRetry={() => void list.refetch()}
          empty={
            <EmptyState icon="cube" title="No containers yet">
              Call <code>POST /v1/responses</code> with the tool <code>code_interpreter</code>, or make one by{' '}
              <code>POST /v1/containers</code>. What its code reads and writes shows here.
            </EmptyState>
          }
        />
      </Card>
      {list.data?.has_more && <p className="soft small">The latest {MOST} are shown.</p>}
      {open && <ContainerPanel key={open} id={open} onClose={() => onOpen('')} />}
    </Stack>
  );
}

function ContainerPanel({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const may = useMay();
  const [isEnding, setEnding] = useState(false);
  const container = useApi('/v1/containers/{container_id}', { params: { container_id: id } });
  const { data } = container;
  const mayWrite = may('files.write');
  return (
    <SidePanel title={data ? nameOfContainer(data) : `…${id.slice(-8)}`} isOpen onClose={onClose}>
      {container.error && <ErrorNote error={container.error} onRetry={() => void container.refetch()} />}
      {!data && !container.error && <Skeleton lines={4} />}
      {data && (
        <Stack gap={6}>
          {mayWrite && (
            <Row>
              <Button icon="trash" onClick={() => setEnding(true)}>
                Delete
              </Button>
            </Row>
          )}
          {may('files.read') && <ContainerFiles container={data} mayWrite={mayWrite} />}
          <KeyValue
            rows={[
              ['State', data.status],
              ['Expires', `${formatTime(endsAt(data))}, unless it is used before`],
              ['Used', formatTime(data.last_active_at * 1_000)],
              ['Made', formatTime(data.created_at * 1_000)],
              ['Memory', data.memory_limit ?? 'as the gateway is set'],
              ['Network', 'none'],
              ['Id', <code key="id">{data.id}</code>],
            ]}
          />
        </Stack>
      )}
      {isEnding && data && (
        <DeleteContainer
          container={data}
          onClose={() => setEnding(false)}
          onDeleted={() => {
            setEnding(false);
            onClose();
          }}
        />
      )}
    </SidePanel>
  );
}

const nameOf = ({ path }: ContainerFile): string => path.replace(/^\/mnt\/data\//, '');

function ContainerFiles({ container, mayWrite }: { readonly container: Container; readonly mayWrite: boolean }) {
  const params = { container_id: container.id };
  const [ending, setEnding] = useState<ContainerFile | null>(null);
  const files = useApi('/v1/containers/{container_id}/files', { params, query: { limit: MOST } });
  const save = useAction((file: ContainerFile) =>
    download(
      `/v1/containers/${encodeURIComponent(container.id)}/files/${encodeURIComponent(file.id)}/content`,
      nameOf(file).split('/').at(-1) || file.id,
    ),
  );
  return (
    <Stack gap={2}>
      <h3>Files</h3>
      {files.error && <ErrorNote error={files.error} onRetry={() => void files.refetch()} />}
      {files.isPending && <Skeleton lines={2} />}
      {files.data?.data.length === 0 && (
        <p className="soft">No code has written anything, and nothing was put into it.</p>
      )}
      <ul className="responses-files">
        {files.data?.data.map((file) => (
          <li key={file.id}>
            <span>
              {nameOf(file)}
              <span className="soft small"> {file.source === 'user' ? 'given' : 'written by code'}</span>
            </span>
            <span className="soft small numeric">{formatBytes(file.bytes)}</span>
            <IconButton
              size="small"
              icon="download"
              label={`Download ${nameOf(file)}`}
              onClick={() => save.mutate(file)}
            />
            {mayWrite && container.status === 'active' ? (
              <IconButton size="small" icon="trash" label={`Delete ${nameOf(file)}`} onClick={() => setEnding(file)} />
            ) : (
              <span />
            )}
          </li>
        ))}
      </ul>
      {files.data?.has_more && <p className="soft small">The latest {MOST} are shown.</p>}
      {ending && <DeleteContainerFile container={container} file={ending} onClose={() => setEnding(null)} />}
    </Stack>
  );
}

function DeleteContainerFile({
  container,
  file,
  onClose,
}: {
  readonly container: Container;
  readonly file: ContainerFile;
  readonly onClose: () => void;
}) {
  const remove = useAction(
    () =>
      api.delete('/v1/containers/{container_id}/files/{file_id}', {
        params: { container_id: container.id, file_id: file.id },
      }),
    { changes: ['/v1/containers', '/v1/files'], done: 'The file is deleted.', onDone: onClose, onFault: () => {} },
  );
  return (
    <ConfirmByName
      title="Delete this file"
      name={nameOf(file)}
      isOpen
      onClose={onClose}
      isBusy={remove.isPending}
      fault={remove.error}
      onConfirm={() => remove.mutate()}
    >
      Code that runs in the container from now on does not find it. What was uploaded into the container is gone for
      good.
    </ConfirmByName>
  );
}

function DeleteContainer({
  container,
  onClose,
  onDeleted,
}: {
  readonly container: Container;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}) {
  const params = { container_id: container.id };
  const files = useApi('/v1/containers/{container_id}/files', { params, query: { limit: MOST } });
  const given = files.data?.data.filter(({ source }) => source === 'user').map(nameOf) ?? [];
  const remove = useAction(() => api.delete('/v1/containers/{container_id}', { params }), {
    changes: ['/v1/containers', '/v1/files'],
    done: 'The container is deleted.',
    onDone: onDeleted,
    onFault: () => {},
  });
  return (
    <ConfirmByName
      title="Delete this container"
      name={nameOfContainer(container).replace(/^…/, '')}
      isOpen
      onClose={onClose}
      isBusy={remove.isPending}
      fault={remove.error}
      onConfirm={() => remove.mutate()}
    >
      What its code has left, such as variables, is gone for good, and responses that name it are refused. Files that
      were uploaded into it go, too
      {given.length > 0 ? `: of ${given.slice(0, 10).join(', ')} those that are only here` : ''}. Files that code wrote
      stay among the files of the workspace.
    </ConfirmByName>
  );
}
