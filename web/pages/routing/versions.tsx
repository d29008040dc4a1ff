import { api, type ResponseOf } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import { ErrorNote, Note, Skeleton } from '../../design/states.tsx';
import { VersionList } from '../../design/versions.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { written } from './config.ts';

export function Versions({
  config,
  isChanged,
}: {
  readonly config: ResponseOf<'/v1/configs/{slug}'>;
  readonly isChanged: boolean;
}) {
  const { slug } = config;
  const query = { workspace_id: useWorkspace().id };
  const may = useMay();
  const list = useApi('/v1/configs/{slug}/versions', { params: { slug }, query: { ...query, page_size: 100 } });
  const restore = useAction(
    (id: string) =>
      api.put('/v1/configs/{slug}', {
        params: { slug },
        query,
        body: { config: list.data?.data.find((each) => each.id === id)?.config },
      }),
    { changes: ['/v1/configs'], done: 'Restored as a new version.', onFault: () => {} },
  );
  if (list.error) return <ErrorNote error={list.error} onRetry={() => void list.refetch()} />;
  if (!list.data) return <Skeleton lines={6} />;
  return (
    <VersionList
      versions={list.data.data.map(({ id, created_at, config: kept }) => ({ id, created_at, text: written(kept) }))}
      total={list.data.total}
      currentId={config.version_id}
      onRestore={may('configs.update') && !isChanged ? (id) => restore.mutate(id) : null}
      isBusy={restore.isPending}
      fault={restore.error}
      note={isChanged && <Note tone="warn">Save or discard what you changed before you restore a version.</Note>}
    />
  );
}
