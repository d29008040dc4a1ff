import { useRef, useState } from 'react';
import { api } from '../../api/client.ts';
import { contentOf, download, uploadFile } from '../../api/files.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { File as StoredFile } from '../../api/types.d.ts';
import { Button, IconButton } from '../../design/button.tsx';
import { ConfirmByName } from '../../design/dialog.tsx';
import { formatBytes } from '../../design/format.ts';
import { Card, Row, Stack } from '../../design/layout.tsx';
import { EmptyState } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { useMay } from '../../shell/session.tsx';

export function FileList() {
  const may = useMay();
  const mayWrite = may('files.write');
  const [ending, setEnding] = useState<StoredFile | null>(null);
  const list = useApi('/v1/files', { query: { limit: 200, order: 'desc' } });
  const save = useAction(({ id, filename }: StoredFile) => download(contentOf(id), filename));
  const columns: readonly Column<StoredFile>[] = [
    {
      id: 'name',
      header: 'File',
      sort: ({ filename }) => filename,
      cell: ({ filename }) => <strong>{filename}</strong>,
    },
    {
      id: 'purpose',
      header: 'For',
      hideBelow: 'small',
      sort: ({ purpose }) => purpose,
      cell: ({ purpose }) => purpose.replace('_', ' '),
    },
    {
      id: 'size',
      header: 'Size',
      align: 'end',
      width: '100px',
      sort: ({ bytes }) => bytes,
      cell: ({ bytes }) => formatBytes(bytes),
    },
    {
      id: 'made',
      header: 'Stored',
      hideBelow: 'medium',
      width: '120px',
      sort: ({ created_at }) => created_at,
      cell: ({ created_at }) => (
        <span className="soft">
          <Ago at={created_at * 1_000} />
        </span>
      ),
    },
    {
      id: 'more',
      header: <span className="hidden-visually">Actions</span>,
      width: '84px',
      align: 'end',
      cell: (file) => (
        <>
          <IconButton
            size="small"
            icon="download"
            label={`Download ${file.filename}`}
            onClick={() => save.mutate(file)}
          />
          {mayWrite && (
            <IconButton size="small" icon="trash" label={`Delete ${file.filename}`} onClick={() => setEnding(file)} />
          )}
        </>
      ),
    },
  ];
  const upload = mayWrite && <UploadFiles label="Upload files" />;
  return (
    <Stack gap={3}>
      {list.data && list.data.data.length > 0 && <Row>{upload}</Row>}
      <Card isFlush>
        <Table
          label="Files"
          rows={list.data?.data}
          columns={columns}
          rowKey={({ id }) => id}
          error={list.error}
          onRetry={() => void list.refetch()}
          empty={
            <EmptyState icon="file" title="No files yet" action={upload}>
              Files for assistants to search, batches, and training; also what batches and jobs leave behind.
            </EmptyState>
          }
        />
      </Card>
      {list.data?.has_more && <p className="soft small">The latest 200 are shown.</p>}
      {ending && <DeleteFile file={ending} onClose={() => setEnding(null)} />}
    </Stack>
  );
}

/** A button that takes files from the computer and says how far it is. */
export function UploadFiles({
  label,
  onUploaded,
}: {
  readonly label: string;
  readonly onUploaded?: (ids: readonly string[]) => Promise<unknown>;
}) {
  const input = useRef<HTMLInputElement>(null);
  const [done, setDone] = useState({ count: 0, of: 0 });
  const upload = useAction(
    async (files: readonly File[]) => {
      const ids: string[] = [];
      for (const file of files) {
        setDone({ count: ids.length, of: files.length });
        ids.push((await uploadFile(file, 'assistants')).id);
      }
      await onUploaded?.(ids);
    },
    { changes: ['/v1/files', '/v1/vector_stores'], done: 'The files are stored.' },
  );
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={label}
        onChange={(event) => {
          const files = [...(event.target.files ?? [])];
          event.target.value = '';
          if (files.length > 0) upload.mutate(files);
        }}
      />
      <Button look="primary" icon="plus" isBusy={upload.isPending} onClick={() => input.current?.click()}>
        {upload.isPending ? `Uploading ${done.count + 1} of ${done.of}` : label}
      </Button>
    </>
  );
}

function DeleteFile({ file, onClose }: { readonly file: StoredFile; readonly onClose: () => void }) {
  const remove = useAction(() => api.delete('/v1/files/{file_id}', { params: { file_id: file.id } }), {
    changes: ['/v1/files', '/v1/vector_stores'],
    done: 'The file is deleted.',
    onDone: onClose,
    onFault: () => {},
  });
  return (
    <ConfirmByName
      title="Delete this file"
      name={file.filename}
      isOpen
      onClose={onClose}
      isBusy={remove.isPending}
      fault={remove.error}
      onConfirm={() => remove.mutate()}
    >
      Its bytes are gone for good, and it is taken out of every vector store. Batches that still read it fail.
    </ConfirmByName>
  );
}
