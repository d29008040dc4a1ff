import { useState } from 'react';
import { api, type BodyOf, type ResponseOf } from '../../api/client.ts';
import { faultAbout } from '../../api/fault.ts';
import { useAction } from '../../api/hooks.ts';
import type { AlertChannel } from '../../api/types.d.ts';
import { Actions, Button } from '../../design/button.tsx';
import { SecretOnce } from '../../design/copy.tsx';
import { Dialog, FormDialog } from '../../design/dialog.tsx';
import { Checkbox, Field, Input, Segmented, Select } from '../../design/field.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { KIND_LABELS } from './channels.tsx';

type Kind = AlertChannel['kind'];
const KINDS = (['slack', 'teams', 'email', 'webhook'] as const).map((value) => ({ value, label: KIND_LABELS[value] }));
const SECURITIES = [
  { value: 'starttls', label: 'STARTTLS (587)' },
  { value: 'tls', label: 'TLS (465)' },
  { value: 'none', label: 'none' },
] as const;

interface Draft {
  readonly kind: Kind;
  readonly name: string;
  readonly url: string;
  readonly host: string;
  readonly port: string;
  readonly security: (typeof SECURITIES)[number]['value'];
  readonly username: string;
  readonly password: string;
  readonly from: string;
  readonly to: string;
  readonly isWide: boolean;
}

const EMPTY: Draft = {
  ...{ kind: 'slack', name: '', url: '', host: '', port: '587', security: 'starttls' },
  ...{ username: '', password: '', from: '', to: '', isWide: false },
};

function draftOf(channel: AlertChannel): Draft {
  const { settings } = channel;
  const known = { ...EMPTY, kind: channel.kind, name: channel.name };
  if ('url' in settings) return known;
  const { host, port, security, username, from, to } = settings;
  return { ...known, host, port: String(port), security, username: username ?? '', from, to: to.join(', ') };
}

/** In a change, an address and a password that are left empty stay as they are. */
function settingsOf(draft: Draft, isNew: boolean) {
  if (draft.kind !== 'email') return isNew || draft.url ? { url: draft.url } : null;
  return {
    host: draft.host,
    port: Number(draft.port),
    security: draft.security,
    from: draft.from,
    to: draft.to
      .split(',')
      .map((each) => each.trim())
      .filter(Boolean),
    ...(isNew || draft.password ? { username: draft.username || null, password: draft.password || null } : {}),
  };
}

type Made = ResponseOf<'/v1/alert-channels', 'post'>;

export function EditChannel({
  channel,
  onClose,
  onSaved,
}: {
  /** Null: a new one. */
  readonly channel: AlertChannel | null;
  readonly onClose: () => void;
  readonly onSaved: (channel: AlertChannel) => void;
}) {
  const may = useMay();
  const workspace = useWorkspace();
  const [draft, setDraft] = useState<Draft>(() => (channel ? draftOf(channel) : EMPTY));
  const set = (change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change }));
  const save = useAction<void, Made>(
    async () => {
      const settings = settingsOf(draft, channel === null);
      if (channel)
        return api.put('/v1/alert-channels/{id}', {
          params: { id: channel.id },
          body: { name: draft.name, ...(settings && { settings }) },
        });
      const where = draft.isWide
        ? { organisation_id: (await api.get('/v1/admin/organisation')).id }
        : { workspace_id: workspace.id };
      const body = { name: draft.name, kind: draft.kind, settings, ...where } as BodyOf<'/v1/alert-channels'>;
      return api.post('/v1/alert-channels', { body });
    },
    {
      changes: ['/v1/alert-channels'],
      done: 'The channel is saved.',
      onDone: (made) => !made.secret && onSaved(made),
      onFault: () => {},
    },
  );
  const fault = (param: string) => faultAbout(save.error, param);
  if (save.data?.secret) {
    const made = save.data;
    return (
      <Dialog
        title="The channel is made"
        isOpen
        onClose={() => onSaved(made)}
        actions={
          <Actions>
            <Button look="primary" onClick={() => onSaved(made)}>
              I have copied it
            </Button>
          </Actions>
        }
      >
        <SecretOnce secret={save.data.secret} name="the secret" />
      </Dialog>
    );
  }
  return (
    <FormDialog
      title={channel ? 'Edit the channel' : 'Create a channel'}
      about="Try it with a test when it is made."
      submit={channel ? 'Save' : 'Create the channel'}
      isOpen
      onClose={onClose}
      isBusy={save.isPending}
      fault={save.error}
      onSubmit={() => save.mutate()}
    >
      {!channel && <Segmented label="Kind" value={draft.kind} choices={KINDS} onChange={(kind) => set({ kind })} />}
      <Field label="Name" error={fault('name')}>
        {(control) => (
          <Input
            {...control}
            required
            placeholder="Ops"
            value={draft.name}
            onChange={(event) => set({ name: event.target.value })}
          />
        )}
      </Field>
      {draft.kind === 'email' ? (
        <Mail draft={draft} set={set} isNew={channel === null} fault={fault} />
      ) : (
        <Field
          label="Address"
          error={fault('settings')}
          help={
            channel
              ? 'Left empty, it stays as it is.'
              : draft.kind === 'slack'
                ? 'The address of an incoming webhook.'
                : draft.kind === 'teams'
                  ? 'The address of a workflow that posts when a webhook request is received.'
                  : 'Messages are signed with a secret that you see once.'
          }
        >
          {(control) => (
            <Input
              {...control}
              type="url"
              required={channel === null}
              placeholder="https://"
              value={draft.url}
              onChange={(event) => set({ url: event.target.value })}
            />
          )}
        </Field>
      )}
      {!channel && may('organisation.manage') && (
        <Checkbox checked={draft.isWide} onChange={(isWide) => set({ isWide })}>
          For alerts that watch every workspace
        </Checkbox>
      )}
    </FormDialog>
  );
}

function Mail({
  draft,
  set,
  isNew,
  fault,
}: {
  readonly draft: Draft;
  readonly set: (change: Partial<Draft>) => void;
  readonly isNew: boolean;
  readonly fault: (param: string) => string | null;
}) {
  const text = (name: 'host' | 'port' | 'from' | 'to' | 'username', label: string, isRequired = true) => (
    <Field label={label} isOptional={!isRequired} error={fault(`settings.${name}`)}>
      {(control) => (
        <Input
          {...control}
          required={isRequired}
          value={draft[name]}
          onChange={(event) => set({ [name]: event.target.value })}
        />
      )}
    </Field>
  );
  return (
    <>
      <div className="columns alerts-amounts">
        {text('host', 'Server')}
        {text('port', 'Port')}
        <Field label="Security">
          {(control) => (
            <Select
              {...control}
              value={draft.security}
              choices={SECURITIES}
              onChange={(security) => set({ security, port: security === 'tls' ? '465' : '587' })}
            />
          )}
        </Field>
      </div>
      <div className="columns alerts-pair">
        {text('from', 'From')}
        {text('to', 'To, with commas')}
        {text('username', 'User', false)}
        <Field label="Password" isOptional help={isNew ? undefined : 'Left empty, it stays as it is.'}>
          {(control) => (
            <Input
              {...control}
              type="password"
              autoComplete="new-password"
              value={draft.password}
              onChange={(event) => set({ password: event.target.value })}
            />
          )}
        </Field>
      </div>
    </>
  );
}
