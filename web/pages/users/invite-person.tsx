import { useState } from 'react';
import { api } from '../../api/client.ts';
import { faultAbout } from '../../api/fault.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { Invite, User, WorkspaceUser } from '../../api/types.d.ts';
import { Actions, Button } from '../../design/button.tsx';
import { SecretOnce } from '../../design/copy.tsx';
import { Dialog, FormDialog } from '../../design/dialog.tsx';
import { Field, Input, Select } from '../../design/field.tsx';
import { formatDate } from '../../design/format.ts';
import { Stack } from '../../design/layout.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { ROLE_CHOICES, WORKSPACE_ROLE_CHOICES } from './roles.ts';

/** Invites a person, or makes another link for an invite that is there. The link is shown once. */
export function InvitePerson({ again, onClose }: { readonly again: Invite | null; readonly onClose: () => void }) {
  const may = useMay();
  const workspace = useWorkspace();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<User['role']>('member');
  const [where, setWhere] = useState(workspace.slug);
  const [workspaceRole, setWorkspaceRole] = useState<WorkspaceUser['role']>('member');
  const workspaces = useApi('/v1/admin/workspaces', { query: { page_size: 500 } }, { enabled: may('workspaces.list') });
  const options = { changes: ['/v1/admin/users/invites'], onFault: () => {} };
  const invite = useAction(
    () =>
      again
        ? api.post('/v1/admin/users/invites/{id}/resend', { params: { id: again.id } })
        : api.post('/v1/admin/users/invites', {
            body: { email, role, ...(role === 'member' && { workspaces: [{ id: where, role: workspaceRole }] }) },
          }),
    options,
  );
  if (invite.data)
    return (
      <Dialog
        title={`Send this link to ${invite.data.email}`}
        isOpen
        onClose={onClose}
        actions={
          <Actions>
            <Button look="primary" onClick={onClose}>
              I have copied it
            </Button>
          </Actions>
        }
      >
        <Stack>
          <SecretOnce secret={invite.data.invite_link} name="the link" />
          <p className="soft">
            It works once, until {formatDate(invite.data.expires_at)}. Who opens it becomes a user with the role{' '}
            <strong>{invite.data.role}</strong>, so send it to nobody else.
          </p>
        </Stack>
      </Dialog>
    );
  if (again)
    return (
      <FormDialog
        title={`New link for ${again.email}`}
        about="The link that was sent before stops working."
        submit="Make the link"
        width="narrow"
        isOpen
        onClose={onClose}
        isBusy={invite.isPending}
        fault={invite.error}
        onSubmit={() => invite.mutate()}
      >
        <p>The new one works once, within seven days.</p>
      </FormDialog>
    );
  return (
    <FormDialog
      title="Invite someone"
      about="You get a link to send. The gateway sends no mail itself."
      submit="Make the link"
      isOpen
      onClose={onClose}
      isBusy={invite.isPending}
      fault={invite.error}
      onSubmit={() => invite.mutate()}
    >
      <Field label="Email" error={faultAbout(invite.error, 'email')}>
        {(control) => (
          <Input
            {...control}
            type="email"
            required
            placeholder="ann@example.com"
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
        )}
      </Field>
      <Field label="Role in the organisation" error={faultAbout(invite.error, 'role')}>
        {(control) => (
          <Select
            {...control}
            value={role}
            onChange={setRole}
            choices={ROLE_CHOICES.filter(({ value }) => value !== 'owner' || may('owners.manage'))}
          />
        )}
      </Field>
      {role === 'member' && (
        <div className="columns users-where">
          <Field label="Workspace" error={faultAbout(invite.error, 'workspaces')}>
            {(control) => (
              <Select
                {...control}
                value={where}
                onChange={setWhere}
                choices={(workspaces.data?.data ?? [{ slug: workspace.slug, name: workspace.slug }]).map(
                  ({ slug, name }) => ({ value: slug, label: name }),
                )}
              />
            )}
          </Field>
          <Field label="Role there">
            {(control) => (
              <Select {...control} value={workspaceRole} onChange={setWorkspaceRole} choices={WORKSPACE_ROLE_CHOICES} />
            )}
          </Field>
        </div>
      )}
    </FormDialog>
  );
}
