import { type FormEvent, useState } from 'react';
import { api } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { Field, Input, Segmented } from '../../design/field.tsx';
import { formatTime } from '../../design/format.ts';
import { Card, Grid, KeyValue, PageHeader, Stack } from '../../design/layout.tsx';
import { ErrorNote } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { nameOf, useSession } from '../../shell/session.tsx';
import { setTheme, useThemeChoice } from '../../shell/theme.ts';

const THEMES = [
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
  { value: 'system', label: 'As the system' },
] as const;

interface OwnSession {
  readonly id: string;
  readonly is_current: boolean;
  readonly created_at: string;
  readonly expires_at: string;
}

export default function Account() {
  const { user, workspace } = useSession();
  const theme = useThemeChoice();
  return (
    <>
      <PageHeader title="Your account" about={user.email} />
      <Stack>
        <Grid least={360}>
          <Card title="You">
            <Stack>
              <KeyValue
                rows={[
                  ['Name', nameOf(user)],
                  ['Email', user.email],
                  ['Role', user.role],
                  ['Workspace', workspace.slug],
                ]}
              />
              <Segmented label="Theme" value={theme} choices={THEMES} onChange={setTheme} />
            </Stack>
          </Card>
          <Card title="Password" about="Your other sessions end, and so does what MCP clients were allowed.">
            <PasswordForm />
          </Card>
        </Grid>
        <Card title="Sessions" about="Browsers in which you are signed in." isFlush>
          <Sessions />
        </Card>
      </Stack>
    </>
  );
}

function PasswordForm() {
  const [now, setNow] = useState('');
  const [next, setNext] = useState('');
  const change = useAction(
    () => api.post('/v1/sessions/current/password', { body: { current_password: now, new_password: next } }),
    {
      done: 'Your password is changed.',
      changes: ['/v1/sessions'],
      onDone: () => {
        setNow('');
        setNext('');
      },
      onFault: () => {},
    },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate();
  };
  return (
    <form className="stack gap-4" onSubmit={submit}>
      <Field label="Present password">
        {(control) => (
          <Input
            {...control}
            type="password"
            autoComplete="current-password"
            required
            value={now}
            onChange={(event) => setNow(event.target.value)}
          />
        )}
      </Field>
      <Field label="New password" help="8 characters or more.">
        {(control) => (
          <Input
            {...control}
            type="password"
            autoComplete="new-password"
            required
            minLength={8}
            value={next}
            onChange={(event) => setNext(event.target.value)}
          />
        )}
      </Field>
      {change.error && <ErrorNote error={change.error} />}
      <div>
        <Button type="submit" isBusy={change.isPending}>
          Change the password
        </Button>
      </div>
    </form>
  );
}

function Sessions() {
  const list = useApi('/v1/sessions');
  const end = useAction((id: string) => api.delete('/v1/sessions/{id}', { params: { id } }), {
    changes: ['/v1/sessions'],
    done: 'The session has ended.',
  });
  const columns: readonly Column<OwnSession>[] = [
    { id: 'began', header: 'Signed in', cell: (row) => <Ago at={row.created_at} /> },
    { id: 'ends', header: 'Ends', hideBelow: 'small', cell: (row) => formatTime(row.expires_at) },
    {
      id: 'which',
      header: <span className="hidden-visually">Which</span>,
      cell: (row) => row.is_current && <Badge tone="accent">this browser</Badge>,
    },
    {
      id: 'end',
      header: <span className="hidden-visually">Actions</span>,
      align: 'end',
      cell: (row) =>
        !row.is_current && (
          <Button size="small" onClick={() => end.mutate(row.id)}>
            End
          </Button>
        ),
    },
  ];
  return (
    <Table
      label="Sessions"
      rows={list.data?.data}
      columns={columns}
      rowKey={(row) => row.id}
      error={list.error}
      onRetry={() => void list.refetch()}
    />
  );
}
