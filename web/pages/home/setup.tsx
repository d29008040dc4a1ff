import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { api } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import { Button } from '../../design/button.tsx';
import { SecretOnce } from '../../design/copy.tsx';
import { Field, Input, Select } from '../../design/field.tsx';
import { Icon } from '../../design/icon.tsx';
import { Card, Row, Stack } from '../../design/layout.tsx';
import { ErrorNote, Progress } from '../../design/states.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { TryCall } from './try-call.tsx';

const SIMULATOR = 'simulator';

interface StepProps {
  readonly title: string;
  readonly about: string;
  readonly isDone: boolean;
  readonly isOpen: boolean;
  readonly onOpen: () => void;
  readonly children: ReactNode;
}

const Step = ({ title, about, isDone, isOpen, onOpen, children }: StepProps) => (
  <li className="home-step">
    <button type="button" className="home-step-head" aria-expanded={isOpen} onClick={onOpen}>
      <span className={`home-step-mark ${isDone ? 'home-step-done' : ''}`}>
        {isDone ? <Icon name="check" size={13} /> : null}
      </span>
      <span className="home-step-words">
        <strong>{title}</strong>
        <span className="soft small">{about}</span>
      </span>
      <span className="soft small">{isDone ? 'done' : ''}</span>
      <Icon name={isOpen ? 'up' : 'down'} />
    </button>
    {isOpen && <div className="home-step-body">{children}</div>}
  </li>
);

/** The way from an empty gateway to one in use. Each step does the thing; what is done is seen in the gateway itself. */
export function Setup() {
  const { id: workspace_id } = useWorkspace();
  const may = useMay();
  const query = { workspace_id, page_size: 20 };
  const virtualKeys = useApi('/v1/virtual-keys', { query });
  const apiKeys = useApi('/v1/api-keys', { query });
  const users = useApi('/v1/admin/users', { query: { page_size: 2 } }, { enabled: may('users.list') });
  const invites = useApi('/v1/admin/users/invites', { query: { page_size: 1 } }, { enabled: may('users.list') });
  const logs = useApi('/v1/logs', { query: { workspace_id, limit: 1 } }, { enabled: may('logs.list') });
  const [opened, setOpened] = useState<string | null>(null);
  // All of them: a step that is found to be done later would close under the user's hands.
  const isLooking = [users, invites, logs].some(({ isLoading }) => isLoading);
  if (!virtualKeys.data || !apiKeys.data || isLooking) return null;
  const steps = [
    {
      id: 'provider',
      title: 'Add a provider',
      about: 'Its credential is sealed, and goes only to that provider.',
      isDone: virtualKeys.data.data.some(({ provider }) => provider !== SIMULATOR),
      body: (
        <Row>
          <Link to="/providers" search={{ create: true } as never} className="button button-primary">
            Add a provider
          </Link>
          <span className="soft">Until then the built-in simulator answers, offline.</span>
        </Row>
      ),
    },
    {
      id: 'key',
      title: 'Make a key for an application',
      about: 'With a budget and rate limits of its own.',
      isDone: apiKeys.data.data.some(({ name }) => name !== 'admin'),
      body: (
        <Link to="/api-keys" search={{ create: true } as never} className="button button-primary">
          Make a key
        </Link>
      ),
    },
    {
      id: 'call',
      title: 'Make a call',
      about: 'From here, as yourself; it is in the log a moment later.',
      isDone: (logs.data?.data.length ?? 0) > 0,
      body: <TryCall virtualKeys={virtualKeys.data.data} />,
    },
    ...(may('users.create', 'organisation.manage')
      ? [
          {
            id: 'invite',
            title: 'Invite someone',
            about: 'A link that works once, for a week.',
            isDone: (users.data?.data.length ?? 0) > 1 || (invites.data?.data.length ?? 0) > 0,
            body: <Invite />,
          },
        ]
      : []),
  ];
  const done = steps.filter(({ isDone }) => isDone).length;
  const next = steps.find(({ isDone }) => !isDone)?.id ?? '';
  // It stays open when it is done: what it answered is there to be read.
  if (opened === null) setOpened(next);
  return (
    <Card
      title={done === steps.length ? 'Set up' : 'Set it up'}
      about={`${done} of ${steps.length} steps are done.`}
      actions={
        <div className="home-progress">
          <Progress
            label="Steps that are done"
            value={done}
            most={steps.length}
            tone={done === steps.length ? 'good' : 'accent'}
          />
        </div>
      }
      isFlush
    >
      <ol>
        {steps.map(({ id, body, ...step }) => (
          <Step key={id} {...step} isOpen={id === opened} onOpen={() => setOpened(id === opened ? '' : id)}>
            {body}
          </Step>
        ))}
      </ol>
    </Card>
  );
}

const ROLES = [
  { value: 'member', label: 'Member' },
  { value: 'admin', label: 'Administrator' },
] as const;

function Invite() {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<'member' | 'admin'>('member');
  const invite = useAction(() => api.post('/v1/admin/users/invites', { body: { email, role } }), {
    changes: ['/v1/admin/users'],
    onFault: () => {},
  });
  if (invite.data) return <SecretOnce secret={invite.data.invite_link} name={`the link for ${invite.data.email}`} />;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        invite.mutate();
      }}
    >
      <Stack gap={3}>
        <div className="home-invite">
          <Field label="Email">
            {(control) => (
              <Input
                {...control}
                type="email"
                required
                value={email}
                onChange={(event) => setEmail(event.target.value)}
              />
            )}
          </Field>
          <Field label="Role">
            {(control) => <Select {...control} value={role} choices={ROLES} onChange={setRole} />}
          </Field>
          <Button look="primary" type="submit" isBusy={invite.isPending}>
            Make the link
          </Button>
        </div>
        {invite.error && <ErrorNote error={invite.error} />}
      </Stack>
    </form>
  );
}
