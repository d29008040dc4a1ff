import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ApiFault } from '../../api/fault.ts';
import { useAction } from '../../api/hooks.ts';
import { FormDialog } from '../../design/dialog.tsx';
import { Field, Input, Segmented, Select, Textarea } from '../../design/field.tsx';
import { useWorkspace } from '../../shell/session.tsx';
import { readEntry } from './registry-entry.ts';
import { RegistrySearch } from './registry-search.tsx';

const WAYS = [
  { value: 'none', label: 'No credential' },
  { value: 'headers', label: 'A header with a secret' },
  { value: 'oauth_auto', label: 'Each user with an account of their own (OAuth)' },
  { value: 'oauth_client_credentials', label: 'One token for all (OAuth client credentials)' },
] as const;
type Way = (typeof WAYS)[number]['value'];

const EMPTY = {
  name: '',
  url: '',
  way: 'none' as Way,
  header: 'Authorization',
  secret: '',
  tokenEndpoint: '',
  clientId: '',
  clientSecret: '',
};

const nameIn = (url: string): string => {
  try {
    return new URL(url).hostname.replace(/^(www|mcp|api)\./, '').split('.')[0] ?? '';
  } catch {
    return '';
  }
};

function configurationsOf(draft: typeof EMPTY): Record<string, unknown> | undefined {
  if (draft.way === 'headers') return { headers: { [draft.header]: draft.secret } };
  if (draft.way === 'oauth_client_credentials')
    return {
      oauth_metadata: {
        token_endpoint: draft.tokenEndpoint,
        client_id: draft.clientId,
        client_secret: draft.clientSecret,
      },
    };
  return undefined;
}

export function AddServer({
  onClose,
  onMade,
}: {
  readonly onClose: () => void;
  readonly onMade: (slug: string) => void;
}) {
  const workspace_id = useWorkspace().id;
  const [draft, setDraft] = useState(EMPTY);
  const set = (change: Partial<typeof EMPTY>) => setDraft((before) => ({ ...before, ...change }));
  const [source, setSource] = useState<'address' | 'registry'>('address');
  const [entry, setEntry] = useState('');
  const read = entry.trim() === '' ? null : readEntry(entry);
  const take = (text: string) => {
    setEntry(text);
    const found = readEntry(text);
    if (typeof found === 'string') return;
    const way = found.header ? ({ way: 'headers', header: found.header } as const) : {};
    set({ url: found.url, name: found.name, ...way });
  };
  const name = draft.name || nameIn(draft.url);
  const add = useAction(
    async () => {
      const made = await api.post('/v1/mcp-servers', {
        body: { name, url: draft.url, workspace_id, auth_type: draft.way, configurations: configurationsOf(draft) },
      });
      // It is tried at once, so that its tools are there; how that went is shown on its page.
      if (draft.way !== 'oauth_auto')
        await api.post('/v1/mcp-servers/{slug}/test', { params: { slug: made.slug } }).catch(() => null);
      return made;
    },
    { changes: ['/v1/mcp-servers'], onDone: ({ slug }) => onMade(slug), onFault: () => {} },
  );
  const fault = add.error instanceof ApiFault ? add.error : null;
  const about = (param: string) => (fault?.param?.startsWith(param) ? fault.message : null);
  return (
    <FormDialog
      title="Add an MCP server"
      about="Its Streamable HTTP endpoint. It is called once to see what it offers."
      submit="Add and try it"
      isOpen
      onClose={onClose}
      isBusy={add.isPending}
      fault={fault?.param === 'url' || fault?.param === 'name' ? null : add.error}
      onSubmit={() => add.mutate()}
    >
      <Segmented
        label="Where it is found"
        value={source}
        onChange={setSource}
        choices={[
          { value: 'address', label: 'By its address' },
          { value: 'registry', label: 'In a registry' },
        ]}
      />
      {source === 'registry' && (
        <RegistrySearch
          onPick={({ url, title, name: full, header }) => {
            setEntry('');
            const way = header ? ({ way: 'headers', header } as const) : ({ way: 'none' } as const);
            set({ url: url ?? '', name: title || full.split('/').at(-1)!, ...way });
          }}
        />
      )}
      {source === 'registry' && (
        <Field
          label="Entry of the registry"
          help="Or paste its server.json, as registry.modelcontextprotocol.io and others show it. The fields below are filled from it."
          error={typeof read === 'string' ? read : null}
        >
          {(control) => (
            <Textarea
              {...control}
              rows={3}
              spellCheck={false}
              placeholder='{ "name": "com.example/weather", "remotes": [ … ] }'
              value={entry}
              onChange={(event) => take(event.target.value)}
            />
          )}
        </Field>
      )}
      <Field label="Address" error={about('url')}>
        {(control) => (
          <Input
            {...control}
            required
            type="url"
            placeholder="https://weather.example.com/mcp"
            value={draft.url}
            onChange={(event) => set({ url: event.target.value })}
          />
        )}
      </Field>
      <Field
        label="Name"
        error={about('name')}
        help="Its slug is made from it, and is part of the address for clients."
      >
        {(control) => (
          <Input
            {...control}
            placeholder={nameIn(draft.url) || 'Weather'}
            value={draft.name}
            onChange={(event) => set({ name: event.target.value })}
          />
        )}
      </Field>
      <Field label="The gateway gets in with">
        {(control) => <Select {...control} value={draft.way} choices={WAYS} onChange={(way) => set({ way })} />}
      </Field>
      {draft.way === 'headers' && (
        <div className="columns">
          <Field label="Header">
            {(control) => (
              <Input
                {...control}
                required
                value={draft.header}
                onChange={(event) => set({ header: event.target.value })}
              />
            )}
          </Field>
          <Field label="Value" help="Stored sealed, shown masked.">
            {(control) => (
              <Input
                {...control}
                required
                type="password"
                autoComplete="new-password"
                placeholder="Bearer …"
                value={draft.secret}
                onChange={(event) => set({ secret: event.target.value })}
              />
            )}
          </Field>
        </div>
      )}
      {draft.way === 'oauth_client_credentials' && (
        <>
          <Field label="Token endpoint">
            {(control) => (
              <Input
                {...control}
                required
                type="url"
                value={draft.tokenEndpoint}
                onChange={(event) => set({ tokenEndpoint: event.target.value })}
              />
            )}
          </Field>
          <Field label="Client id">
            {(control) => (
              <Input
                {...control}
                required
                value={draft.clientId}
                onChange={(event) => set({ clientId: event.target.value })}
              />
            )}
          </Field>
          <Field label="Client secret">
            {(control) => (
              <Input
                {...control}
                required
                type="password"
                autoComplete="new-password"
                value={draft.clientSecret}
                onChange={(event) => set({ clientSecret: event.target.value })}
              />
            )}
          </Field>
        </>
      )}
    </FormDialog>
  );
}
