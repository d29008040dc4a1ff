import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { VectorStore, VectorStoreFile, VectorStoreSearchResults } from '../../api/types.d.ts';
import { Badge, type Tone } from '../../design/badge.tsx';
import { Button, IconButton } from '../../design/button.tsx';
import { ConfirmByName, SidePanel } from '../../design/dialog.tsx';
import { Input } from '../../design/field.tsx';
import { formatBytes, formatTime } from '../../design/format.ts';
import { KeyValue, Row, Stack } from '../../design/layout.tsx';
import { ErrorNote, Skeleton } from '../../design/states.tsx';
import { useMay } from '../../shell/session.tsx';
import { UploadFiles } from './file-list.tsx';
import { Ingestion } from './store-list.tsx';

const TONES: Readonly<Record<VectorStoreFile['status'], Tone>> = {
  in_progress: 'accent',
  completed: 'good',
  cancelled: 'plain',
  failed: 'bad',
};

export function StorePanel({ store, onClose }: { readonly store: VectorStore; readonly onClose: () => void }) {
  const may = useMay();
  const mayWrite = may('assistants.write');
  const [isEnding, setEnding] = useState(false);
  const params = { vector_store_id: store.id };
  const add = (file_ids: readonly string[]) =>
    api.post('/v1/vector_stores/{vector_store_id}/file_batches', { params, body: { file_ids: [...file_ids] } });
  return (
    <SidePanel title={store.name || store.id} isOpen onClose={onClose} width="wide">
      <Stack gap={6}>
        {mayWrite && (
          <Row>
            {may('files.write') && <UploadFiles label="Add files" onUploaded={add} />}
            <Button icon="trash" onClick={() => setEnding(true)}>
              Delete
            </Button>
          </Row>
        )}
        <Ingestion store={store} />
        <Search store={store} />
        <Files store={store} />
        <KeyValue
          rows={[
            ['Size', formatBytes(store.usage_bytes)],
            ['Ends', store.expires_at ? formatTime(store.expires_at * 1_000) : 'never'],
            ['Made', formatTime(store.created_at * 1_000)],
            ['Id', <code key="id">{store.id}</code>],
          ]}
        />
      </Stack>
      {isEnding && (
        <DeleteStore
          store={store}
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

/** Tries what assistants would find. */
function Search({ store }: { readonly store: VectorStore }) {
  const [text, setText] = useState('');
  const search = useAction(
    () =>
      api.post('/v1/vector_stores/{vector_store_id}/search', {
        params: { vector_store_id: store.id },
        body: { query: text, max_num_results: 8 },
      }),
    { onFault: () => {} },
  );
  return (
    <Stack gap={3}>
      <form
        className="assistants-search"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim()) search.mutate();
        }}
      >
        <Input
          icon="search"
          aria-label="Search this store"
          placeholder="Ask what an assistant would ask"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <Button type="submit" isBusy={search.isPending} disabled={!text.trim()}>
          Search
        </Button>
      </form>
      {search.error && <ErrorNote error={search.error} />}
      {search.data?.data.length === 0 && <p className="soft">Nothing fits.</p>}
      <ol className="assistants-found">
        {search.data?.data.map(({ file_id, filename, score, content, locator }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: one file may be found several times
          <li key={`${file_id} ${index}`}>
            <span className="line gap-2">
              <strong>{filename}</strong>
              <Badge tone="accent">{score.toFixed(2)}</Badge>
              {locator && <span className="soft small">{placeOf(locator)}</span>}
            </span>
            <p className="assistants-text soft">{content.map(({ text: each }) => each).join('\n')}</p>
          </li>
        ))}
      </ol>
    </Stack>
  );
}

type Locator = NonNullable<VectorStoreSearchResults['data'][number]['locator']>;

const placeOf = ({ page, last_page, headings, line, last_line }: Locator): string =>
  [
    page !== undefined && spanOf('page', page, last_page),
    headings?.join(' › '),
    line !== undefined && spanOf('line', line, last_line),
  ]
    .filter(Boolean)
    .join(', ');

const spanOf = (what: string, first: number, last = first): string =>
  first === last ? `${what} ${first}` : `${what}s ${first}–${last}`;

function Files({ store }: { readonly store: VectorStore }) {
  const may = useMay();
  const path = '/v1/vector_stores/{vector_store_id}/files';
  const isReading = store.status === 'in_progress';
  const list = useApi(
    path,
    { params: { vector_store_id: store.id }, query: { limit: 100 } },
    { refetchInterval: isReading ? 1_500 : false },
  );
  const known = useApi('/v1/files', { query: { limit: 200, order: 'desc' } }, { enabled: may('files.read') });
  const nameOf = (id: string) => known.data?.data.find((each) => each.id === id)?.filename ?? id;
  const remove = useAction(
    (file_id: string) =>
      api.delete('/v1/vector_stores/{vector_store_id}/files/{file_id}', {
        params: { vector_store_id: store.id, file_id },
      }),
    { changes: ['/v1/vector_stores'], done: 'It is taken out; the file itself stays.' },
  );
  return (
    <Stack gap={2}>
      <h3>Files</h3>
      {list.error && <ErrorNote error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && <Skeleton />}
      {list.data?.data.length === 0 && <p className="soft">None yet. Add some, and they are read at once.</p>}
      <ul className="assistants-files">
        {list.data?.data.map(({ id, status, last_error, usage_bytes }) => (
          <li key={id}>
            <span className="stack">
              <span className="truncate">{nameOf(id)}</span>
              {last_error && <span className="small assistants-bad">{last_error.message}</span>}
            </span>
            <span className="soft small numeric">{formatBytes(usage_bytes)}</span>
            <Badge tone={TONES[status]} dot>
              {status === 'completed' ? 'ready' : status === 'in_progress' ? 'being read' : status}
            </Badge>
            {may('assistants.write') ? (
              <IconButton
                size="small"
                icon="close"
                label={`Take ${nameOf(id)} out`}
                onClick={() => remove.mutate(id)}
              />
            ) : (
              <span />
            )}
          </li>
        ))}
      </ul>
      {list.data?.has_more && <p className="soft small">The latest 100 are shown.</p>}
    </Stack>
  );
}

function DeleteStore({
  store,
  onClose,
  onDeleted,
}: {
  readonly store: VectorStore;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}) {
  const remove = useAction(
    () => api.delete('/v1/vector_stores/{vector_store_id}', { params: { vector_store_id: store.id } }),
    { changes: ['/v1/vector_stores'], done: 'The vector store is deleted.', onDone: onDeleted, onFault: () => {} },
  );
  return (
    <ConfirmByName
      title="Delete this vector store"
      name={store.name || store.id}
      isOpen
      onClose={onClose}
      isBusy={remove.isPending}
      fault={remove.error}
      onConfirm={() => remove.mutate()}
    >
      Assistants and threads that search it find nothing any more. Its {store.file_counts.total} files stay.
    </ConfirmByName>
  );
}
