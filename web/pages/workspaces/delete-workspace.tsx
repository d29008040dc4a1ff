import { api } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { Workspace } from '../../api/types.d.ts';
import { Actions, Button } from '../../design/button.tsx';
import { ConfirmByName, Dialog } from '../../design/dialog.tsx';
import { formatNumber } from '../../design/format.ts';
import { KeyValue, Stack } from '../../design/layout.tsx';
import { ErrorNote, Note, Progress, Skeleton } from '../../design/states.tsx';

export function DeleteWorkspace({
  workspace,
  onClose,
  onDeleted,
}: {
  readonly workspace: Workspace;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}) {
  const remove = useAction(
    () => api.delete('/v1/admin/workspaces/{workspace}', { params: { workspace: workspace.id }, body: {} }),
    { changes: ['/v1/admin/workspaces', '/v1/admin/users'], onDone: onDeleted, onFault: () => {} },
  );
  if (remove.data) return <Report workspace={workspace} onClose={onClose} />;
  return (
    <ConfirmByName
      title={`Delete ${workspace.name}`}
      name={workspace.slug}
      action="Delete the workspace"
      isOpen
      onClose={onClose}
      isBusy={remove.isPending}
      fault={remove.error}
      onConfirm={() => remove.mutate()}
    >
      Its API keys are refused from that moment on. Its virtual keys, configs, guardrails, assistants, files, batches
      and request log go with it, for good.
    </ConfirmByName>
  );
}

function Report({ workspace, onClose }: { readonly workspace: Workspace; readonly onClose: () => void }) {
  const deletion = useApi(
    '/v1/admin/workspaces/{workspace}/deletion',
    { params: { workspace: workspace.id } },
    { refetchInterval: 1_000 },
  );
  const isDone = deletion.data?.status === 'completed';
  return (
    <Dialog
      title={isDone ? `${workspace.name} is deleted` : `Deleting ${workspace.name}`}
      about={isDone ? undefined : 'It goes on when you close this.'}
      isOpen
      onClose={onClose}
      actions={
        <Actions>
          <Button look="primary" onClick={onClose}>
            Close
          </Button>
        </Actions>
      }
    >
      <Stack>
        {deletion.error && <ErrorNote error={deletion.error} />}
        {!deletion.data ? (
          <Skeleton lines={2} />
        ) : (
          <>
            {!isDone && <Progress label="Deleting" />}
            <KeyValue rows={deletion.data.removed.map(({ area, rows }) => [area, formatNumber(rows)])} />
            {deletion.data.kept.map(({ area, why }) => (
              <Note key={area}>
                {area} stays: {why}
              </Note>
            ))}
          </>
        )}
      </Stack>
    </Dialog>
  );
}
