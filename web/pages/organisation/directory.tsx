import { useState } from 'react';
import { api } from '../../api/client.ts';
import { faultAbout } from '../../api/fault.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { ScimMapping } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { Button, IconButton } from '../../design/button.tsx';
import { ConfirmByName, FormDialog } from '../../design/dialog.tsx';
import { Field, Input, Select } from '../../design/field.tsx';
import { Card, Stack } from '../../design/layout.tsx';
import { EmptyState } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { useMay } from '../../shell/session.tsx';

const PATH = '/v1/admin/scim/mappings';
const ROLES = [
  { value: 'member', label: 'member' },
  { value: 'manager', label: 'manager' },
  { value: 'admin', label: 'admin' },
] as const;
type Role = (typeof ROLES)[number]['value'];

/** What groups of a directory mean here. */
export function Directory() {
  const may = useMay();
  const [isAdding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<ScimMapping | null>(null);
  const list = useApi(PATH);
  const workspaces = useApi('/v1/admin/workspaces', { query: { page_size: 500 } }, { enabled: may('workspaces.list') });
  const mayChange = may('users.update');
  const nameOf = ({ workspace_id, workspace_slug }: ScimMapping) =>
    workspaces.data?.data.find(({ id }) => id === workspace_id)?.name ?? workspace_slug ?? workspace_id;
  const columns: readonly Column<ScimMapping>[] = [
    { id: 'group', header: 'Group', sort: ({ group }) => group, cell: ({ group }) => <strong>{group}</strong> },
    {
      id: 'where',
      header: 'In',
      cell: (mapping) =>
        mapping.workspace_id === null ? <Badge tone="accent">the organisation</Badge> : <span>{nameOf(mapping)}</span>,
    },
    {
      id: 'role',
      header: 'Its members are',
      width: '160px',
      sort: ({ role }) => role,
      cell: ({ role }) => <Badge>{role}</Badge>,
    },
    {
      id: 'more',
      header: <span className="hidden-visually">Actions</span>,
      width: '48px',
      align: 'end',
      cell: (mapping) =>
        mayChange && (
          <IconButton
            size="small"
            icon="trash"
            label={`Take the role from ${mapping.group}`}
            onClick={() => setRemoving(mapping)}
          />
        ),
    },
  ];
  const add = mayChange && (
    <Button icon="plus" onClick={() => setAdding(true)}>
      Give a group a role
    </Button>
  );
  const isEmpty = list.data?.data.length === 0;
  return (
    <Stack gap={3}>
      {!isEmpty && add && <div>{add}</div>}
      <Card
        title="Groups of your directory"
        about="A directory that speaks SCIM makes, changes and deactivates users here, at the address /scim/v2, with a key that has scim.manage. These rows say what its groups mean."
        isFlush
      >
        <Table
          label="Groups of your directory"
          rows={list.data?.data}
          columns={columns}
          rowKey={({ id }) => id}
          error={list.error}
          onRetry={() => void list.refetch()}
          empty={
            <EmptyState icon="users" title="No group means anything yet" action={add}>
              Name a group of your directory as it is called there: its members get a role, and lose it when they leave.
            </EmptyState>
          }
        />
      </Card>
      {isAdding && (
        <AddMapping
          workspaces={(workspaces.data?.data ?? []).map(({ slug, name }) => ({ value: slug, label: name }))}
          onClose={() => setAdding(false)}
        />
      )}
      {removing && <RemoveMapping mapping={removing} onClose={() => setRemoving(null)} />}
    </Stack>
  );
}

function AddMapping({
  workspaces,
  onClose,
}: {
  readonly workspaces: readonly { readonly value: string; readonly label: string }[];
  readonly onClose: () => void;
}) {
  const [group, setGroup] = useState('');
  const [workspace, setWorkspace] = useState('');
  const [role, setRole] = useState<Role>('member');
  const add = useAction(() => api.post(PATH, { body: { group, workspace: workspace || null, role } }), {
    changes: [PATH, '/v1/admin/users'],
    done: `Members of ${group} get the role ${role}.`,
    onDone: onClose,
    onFault: () => {},
  });
  const fault = (param: string) => faultAbout(add.error, param);
  return (
    <FormDialog
      title="Give a group a role"
      about="It holds at once for those who are in the group, and for those who come."
      submit="Save"
      isOpen
      onClose={onClose}
      isBusy={add.isPending}
      fault={add.error}
      onSubmit={() => add.mutate()}
    >
      <Field label="Group" help="As the directory calls it, letter by letter." error={fault('group')}>
        {(control) => (
          <Input
            {...control}
            required
            placeholder="ml-engineers"
            value={group}
            onChange={(event) => setGroup(event.target.value)}
          />
        )}
      </Field>
      <Field label="Where" error={fault('workspace')}>
        {(control) => (
          <Select
            {...control}
            value={workspace}
            onChange={setWorkspace}
            choices={[{ value: '', label: 'In the whole organisation' }, ...workspaces]}
          />
        )}
      </Field>
      <Field label="Role" error={fault('role')}>
        {(control) => (
          <Select
            {...control}
            value={role}
            onChange={setRole}
            choices={ROLES.filter(({ value }) => workspace !== '' || value !== 'manager')}
          />
        )}
      </Field>
    </FormDialog>
  );
}

function RemoveMapping({ mapping, onClose }: { readonly mapping: ScimMapping; readonly onClose: () => void }) {
  const remove = useAction(() => api.delete('/v1/admin/scim/mappings/{id}', { params: { id: mapping.id } }), {
    changes: [PATH, '/v1/admin/users'],
    done: `${mapping.group} means nothing any more.`,
    onDone: onClose,
    onFault: () => {},
  });
  return (
    <ConfirmByName
      title="Take the role from this group"
      name={mapping.group}
      action="Take it"
      isOpen
      onClose={onClose}
      isBusy={remove.isPending}
      fault={remove.error}
      onConfirm={() => remove.mutate()}
    >
      Its members lose the role {mapping.role}
      {mapping.workspace_id === null ? ' in the organisation' : ' in that workspace'} at once, unless another group
      gives it to them.
    </ConfirmByName>
  );
}
