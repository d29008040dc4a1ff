import { useState } from 'react';
import { api } from '../../api/client.ts';
import { faultAbout } from '../../api/fault.ts';
import { useAction } from '../../api/hooks.ts';
import type { Workspace } from '../../api/types.d.ts';
import { Button } from '../../design/button.tsx';
import { SidePanel } from '../../design/dialog.tsx';
import { Field, Input } from '../../design/field.tsx';
import { formatTime } from '../../design/format.ts';
import { KeyValue, Row, Stack } from '../../design/layout.tsx';
import { ErrorNote } from '../../design/states.tsx';
import { goToWorkspace, useMay, useWorkspace } from '../../shell/session.tsx';
import { BudgetField, budgetIn, isSameBudget, limitsFrom } from '../api-keys/budget-field.tsx';
import { Usage } from '../api-keys/key-panel.tsx';
import { ForbiddenEditor, type Rule } from '../organisation/forbidden-editor.tsx';
import { MemberKeys } from './member-keys.tsx';
import { Members } from './members.tsx';

export function WorkspacePanel({
  workspace,
  onClose,
  onDelete,
}: {
  readonly workspace: Workspace;
  readonly onClose: () => void;
  /** Null: not allowed. */
  readonly onDelete: (() => void) | null;
}) {
  const may = useMay();
  const here = useWorkspace();
  return (
    <SidePanel title={workspace.name} isOpen onClose={onClose}>
      <Stack gap={6}>
        <Row>
          {workspace.id !== here.id && (
            <Button icon="right" onClick={() => goToWorkspace(workspace.slug)}>
              Work there
            </Button>
          )}
          {onDelete && (
            <Button icon="trash" onClick={onDelete}>
              Delete
            </Button>
          )}
        </Row>
        <KeyValue
          rows={[
            ['Slug', <code key="slug">{workspace.slug}</code>],
            ['Budget', <Usage key="usage" usage={workspace.usage} />],
            ['Calls may not bring', workspace.forbidden?.join(', ') || 'anything is allowed'],
            ['Made', formatTime(workspace.created_at)],
            ['Id', <code key="id">{workspace.id}</code>],
          ]}
        />
        {may('workspace_users.list') && <Members workspace={workspace} />}
        {may('workspaces.update') && <Change workspace={workspace} />}
        {may('workspaces.update') && <MemberKeys workspace={workspace} />}
      </Stack>
    </SidePanel>
  );
}

function Change({ workspace }: { readonly workspace: Workspace }) {
  const may = useMay();
  const before = budgetIn(workspace.usage_limits);
  const [name, setName] = useState(workspace.name);
  const [about, setAbout] = useState(workspace.description ?? '');
  const [budget, setBudget] = useState(before);
  const [forbidden, setForbidden] = useState<readonly string[]>(workspace.forbidden ?? []);
  // What a workspace may use and do is decided above it.
  const mayLimit = may('organisation.manage');
  const save = useAction(
    () =>
      api.put('/v1/admin/workspaces/{workspace}', {
        params: { workspace: workspace.id },
        body: {
          name,
          description: about.trim() || null,
          ...(!isSameBudget(budget, before) && { usage_limits: limitsFrom(budget) }),
          ...(mayLimit && { forbidden: forbidden.length > 0 ? ([...forbidden] as Rule[]) : null }),
        },
      }),
    { changes: ['/v1/admin/workspaces'], done: 'It is saved.', onFault: () => {} },
  );
  const fault = (param: string) => faultAbout(save.error, param);
  return (
    <form
      className="stack gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <h3>Settings</h3>
      <Field label="Name" error={fault('name')}>
        {(control) => <Input {...control} required value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <Field label="About" error={fault('description')}>
        {(control) => <Input {...control} value={about} onChange={(event) => setAbout(event.target.value)} />}
      </Field>
      {mayLimit && (
        <>
          <BudgetField draft={budget} error={fault('usage_limits')} onChange={setBudget} />
          <details className="workspaces-forbidden">
            <summary>What its calls may not bring along ({forbidden.length})</summary>
            <ForbiddenEditor value={forbidden} onChange={setForbidden} error={fault('forbidden')} />
          </details>
        </>
      )}
      {save.error && <ErrorNote error={save.error} />}
      <div>
        <Button type="submit" look="primary" isBusy={save.isPending}>
          Save
        </Button>
      </div>
    </form>
  );
}
