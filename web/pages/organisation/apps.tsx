import { useState } from 'react';
import { api } from '../../api/client.ts';
import { faultAbout } from '../../api/fault.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { McpApp } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { Button, IconButton } from '../../design/button.tsx';
import { CopyButton, SecretOnce } from '../../design/copy.tsx';
import { ConfirmByName, Dialog, FormDialog } from '../../design/dialog.tsx';
import { Checkbox, Field, Input, Textarea } from '../../design/field.tsx';
import { Card, Stack } from '../../design/layout.tsx';
import { Menu } from '../../design/menu.tsx';
import { EmptyState } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';

const PATH = '/v1/mcp-apps';
type Doing = { readonly what: 'edit' | 'rotate' | 'delete'; readonly app: McpApp } | { readonly what: 'create' } | null;

/** Applications that users sign in to MCP servers with, which administrators have registered. */
export function Apps() {
  const [doing, setDoing] = useState<Doing>(null);
  const list = useApi(PATH, { query: { page_size: 200 } });
  const close = () => setDoing(null);
  const columns: readonly Column<McpApp>[] = [
    { id: 'name', header: 'Application', sort: ({ name }) => name, cell: ({ name }) => <strong>{name}</strong> },
    {
      id: 'client',
      header: 'Client id',
      hideBelow: 'small',
      cell: ({ client_id }) => (
        <span className="line gap-1 mcp-address">
          <code className="truncate">{client_id}</code>
          <CopyButton text={client_id} label={`Copy ${client_id}`} />
        </span>
      ),
    },
    {
      id: 'secret',
      header: 'Proves itself',
      width: '130px',
      hideBelow: 'medium',
      cell: ({ is_confidential }) =>
        is_confidential ? <Badge tone="info">with a secret</Badge> : <Badge>public</Badge>,
    },
    {
      id: 'used',
      header: 'Last used',
      width: '120px',
      align: 'end',
      cell: ({ last_used_at }) => (last_used_at ? <Ago at={last_used_at} /> : <span className="soft">never</span>),
    },
    {
      id: 'more',
      header: <span className="hidden-visually">Actions</span>,
      width: '48px',
      align: 'end',
      cell: (app) => (
        <Menu
          items={[
            { label: 'Edit', icon: 'edit', onSelect: () => setDoing({ what: 'edit', app }) },
            ...(app.is_confidential
              ? [
                  {
                    label: 'Give it a new secret',
                    icon: 'refresh' as const,
                    onSelect: () => setDoing({ what: 'rotate', app }),
                  },
                ]
              : []),
            null,
            { label: 'Delete', icon: 'trash', isDanger: true, onSelect: () => setDoing({ what: 'delete', app }) },
          ]}
          trigger={<IconButton size="small" icon="more" label={`Actions for ${app.name}`} />}
        />
      ),
    },
  ];
  const create = (
    <Button icon="plus" onClick={() => setDoing({ what: 'create' })}>
      Register an application
    </Button>
  );
  const isEmpty = list.data?.data.length === 0;
  return (
    <Stack gap={3}>
      {!isEmpty && <div>{create}</div>}
      <Card
        title="Applications"
        about="Programs that your users sign in to MCP servers with. Those that register themselves are not listed: users see theirs under Your apps."
        isFlush
      >
        <Table
          label="Applications"
          rows={list.data?.data}
          columns={columns}
          rowKey={({ id }) => id}
          onOpen={(app) => setDoing({ what: 'edit', app })}
          error={list.error}
          onRetry={() => void list.refetch()}
          empty={
            <EmptyState icon="share" title="No application is registered" action={create}>
              Register one that cannot do it by itself, such as a server of your own that acts for your users.
            </EmptyState>
          }
        />
      </Card>
      {doing?.what === 'create' && <EditApp app={null} onClose={close} />}
      {doing?.what === 'edit' && <EditApp app={doing.app} onClose={close} />}
      {doing?.what === 'rotate' && <RotateApp app={doing.app} onClose={close} />}
      {doing?.what === 'delete' && <DeleteApp app={doing.app} onClose={close} />}
    </Stack>
  );
}

const lines = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);

function EditApp({ app, onClose }: { readonly app: McpApp | null; readonly onClose: () => void }) {
  const [name, setName] = useState(app?.name ?? '');
  const [addresses, setAddresses] = useState(app?.redirect_uris.join('\n') ?? '');
  const [isConfidential, setConfidential] = useState(app?.is_confidential ?? true);
  const [isRenewable, setRenewable] = useState(app?.is_renewable ?? true);
  const save = useAction(
    async (): Promise<McpApp & { client_secret?: string }> => {
      const body = { name, redirect_uris: lines(addresses), is_renewable: isRenewable };
      return app
        ? api.put('/v1/mcp-apps/{id}', { params: { id: app.id }, body })
        : api.post('/v1/mcp-apps', { body: { ...body, is_confidential: isConfidential } });
    },
    { changes: [PATH], onDone: (made) => app && made && onClose(), onFault: () => {} },
  );
  if (save.data && !app) return <Registered app={save.data} onClose={onClose} />;
  const fault = (param: string) => faultAbout(save.error, param);
  return (
    <FormDialog
      title={app ? `Change ${app.name}` : 'Register an application'}
      about="Each user who signs in with it is asked first, and ends it under Your apps."
      submit={app ? 'Save' : 'Register it'}
      isOpen
      onClose={onClose}
      isBusy={save.isPending}
      fault={save.error}
      onSubmit={() => save.mutate()}
    >
      <Field label="Name" help="Users see it when they are asked." error={fault('name')}>
        {(control) => (
          <Input
            {...control}
            required
            placeholder="Travel desk"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field
        label="Addresses it may be led back to"
        help="One in a line. Users are sent there after they have signed in, and nowhere else."
        error={fault('redirect_uris')}
      >
        {(control) => (
          <Textarea
            {...control}
            required
            spellCheck={false}
            placeholder="https://travel.example.com/callback"
            value={addresses}
            onChange={(event) => setAddresses(event.target.value)}
          />
        )}
      </Field>
      {!app && (
        <Checkbox checked={isConfidential} onChange={setConfidential}>
          It keeps a secret, as a program on a server can
        </Checkbox>
      )}
      <Checkbox checked={isRenewable} onChange={setRenewable}>
        It may renew its tokens while the user is away
      </Checkbox>
    </FormDialog>
  );
}

const Registered = ({
  app,
  onClose,
}: {
  readonly app: McpApp & { readonly client_secret?: string };
  readonly onClose: () => void;
}) => (
  <Dialog
    title={`${app.name} is registered`}
    isOpen
    onClose={onClose}
    actions={
      <Button look="primary" onClick={onClose}>
        Done
      </Button>
    }
  >
    <Stack>
      <div className="secret-line">
        <code>{app.client_id}</code>
        <CopyButton text={app.client_id} label="Copy the client id" isSmall={false} />
      </div>
      {app.client_secret && <SecretOnce secret={app.client_secret} name="the secret" />}
    </Stack>
  </Dialog>
);

function RotateApp({ app, onClose }: { readonly app: McpApp; readonly onClose: () => void }) {
  const [minutes, setMinutes] = useState('60');
  const rotate = useAction(
    () =>
      api.post('/v1/mcp-apps/{id}/rotate', {
        params: { id: app.id },
        body: { transition_seconds: Math.round(Number(minutes) * 60) },
      }),
    { changes: [PATH], onFault: () => {} },
  );
  if (rotate.data) return <Registered app={rotate.data} onClose={onClose} />;
  return (
    <FormDialog
      title={`A new secret for ${app.name}`}
      about="Both secrets work for a while, so that the application can be changed over."
      submit="Give it a new secret"
      isOpen
      onClose={onClose}
      isBusy={rotate.isPending}
      fault={rotate.error}
      onSubmit={() => rotate.mutate()}
    >
      <Field label="The old one works for, in minutes" error={faultAbout(rotate.error, 'transition_seconds')}>
        {(control) => (
          <Input
            {...control}
            required
            type="number"
            min="0"
            value={minutes}
            onChange={(event) => setMinutes(event.target.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}

function DeleteApp({ app, onClose }: { readonly app: McpApp; readonly onClose: () => void }) {
  const remove = useAction(() => api.delete('/v1/mcp-apps/{id}', { params: { id: app.id } }), {
    changes: [PATH],
    done: `The application ${app.name} is deleted.`,
    onDone: onClose,
    onFault: () => {},
  });
  return (
    <ConfirmByName
      title="Delete this application"
      name={app.name}
      isOpen
      onClose={onClose}
      isBusy={remove.isPending}
      fault={remove.error}
      onConfirm={() => remove.mutate()}
    >
      What users have allowed it ends at once, and its secret works no more.
    </ConfirmByName>
  );
}
