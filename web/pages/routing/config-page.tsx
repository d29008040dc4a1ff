import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { api, type ResponseOf } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import { Badge } from '../../design/badge.tsx';
import { Button, IconButton } from '../../design/button.tsx';
import { CodeBlock } from '../../design/copy.tsx';
import { ConfirmByName } from '../../design/dialog.tsx';
import { useDraft } from '../../design/draft.ts';
import { Card, PageHeader, Stack } from '../../design/layout.tsx';
import { Menu, Tabs } from '../../design/menu.tsx';
import { ErrorNote, Skeleton } from '../../design/states.tsx';
import { useFilters } from '../../shell/filters.ts';
import { Leaving } from '../../shell/leaving.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { parsed, written } from './config.ts';
import { ConfigEditor } from './config-editor.tsx';
import { Versions } from './versions.tsx';

const FILTERS = { tab: 'edit' };
type Config = ResponseOf<'/v1/configs/{slug}'>;

export default function ConfigPage() {
  const { slug } = useParams({ strict: false }) as { slug: string };
  const workspace_id = useWorkspace().id;
  const found = useApi('/v1/configs/{slug}', { params: { slug }, query: { workspace_id } });
  // While there is something to work on, a look at the server that fails takes nothing away.
  if (found.data) return <Opened key={found.data.id} config={found.data} />;
  return found.error ? <ErrorNote error={found.error} onRetry={() => void found.refetch()} /> : <Skeleton lines={8} />;
}

function Opened({ config }: { readonly config: Config }) {
  const { slug } = config;
  const query = { workspace_id: useWorkspace().id };
  const may = useMay();
  const navigate = useNavigate();
  const [filters, setFilters] = useFilters(FILTERS);
  const stored = written(config.config);
  const { draft: text, setDraft: setText, saved } = useDraft(stored);
  const [isDeleting, setDeleting] = useState(false);
  const value = parsed(text);
  // Spaces between the members are no change.
  const isOther = (config: Record<string, unknown> | null) => config === null || written(config) !== stored;
  const isChanged = isOther(value);
  const mayChange = may('configs.update');
  const save = useAction(
    async ({ sent, kept }: { sent: string; kept: Record<string, unknown> }) => {
      const { config: made } = await api.put('/v1/configs/{slug}', { params: { slug }, query, body: { config: kept } });
      saved(sent, written(made));
    },
    { changes: ['/v1/configs'], done: 'Saved. Calls use it from now on.' },
  );
  const shelve = useAction(
    (status: Config['status']) => api.put('/v1/configs/{slug}', { params: { slug }, query, body: { status } }),
    { changes: ['/v1/configs'], done: 'Done.' },
  );
  const remove = useAction(() => api.delete('/v1/configs/{slug}', { params: { slug }, query }), {
    changes: ['/v1/configs'],
    done: `The config ${config.name} is deleted.`,
    onDone: () => void navigate({ to: '/routing', ignoreBlocker: true }),
    onFault: () => {},
  });
  const submit = (sent: string) => {
    const kept = parsed(sent);
    if (mayChange && kept && isOther(kept) && !save.isPending) save.mutate({ sent, kept });
  };
  const isArchived = config.status === 'archived';
  return (
    <>
      <PageHeader
        title={config.name}
        about={
          <>
            <Link to="/routing">Routing</Link> / <code>{slug}</code>
          </>
        }
      >
        {isArchived && <Badge>archived</Badge>}
        {isChanged && <Badge tone="warn">not saved</Badge>}
        {(mayChange || may('configs.delete')) && (
          <Menu
            label={`Actions for ${config.name}`}
            trigger={<IconButton icon="more" label={`Actions for ${config.name}`} />}
            items={[
              ...(mayChange
                ? [
                    {
                      label: isArchived ? 'Take into use again' : 'Archive: calls that name it are refused',
                      icon: 'layers' as const,
                      onSelect: () => shelve.mutate(isArchived ? 'active' : 'archived'),
                    },
                  ]
                : []),
              ...(may('configs.delete')
                ? [{ label: 'Delete', icon: 'trash' as const, isDanger: true, onSelect: () => setDeleting(true) }]
                : []),
            ]}
          />
        )}
        {mayChange && isChanged && <Button onClick={() => setText(stored)}>Discard</Button>}
        {mayChange && (
          <Button look="primary" isBusy={save.isPending} disabled={!isChanged || !value} onClick={() => submit(text)}>
            Save
          </Button>
        )}
      </PageHeader>
      <Tabs
        label="Of this config"
        value={filters.tab}
        onChange={(tab) => setFilters({ tab })}
        tabs={[
          {
            value: 'edit',
            label: 'Config',
            content: (
              <ConfigEditor
                slug={slug}
                text={text}
                onChange={setText}
                onSave={submit}
                isReadOnly={!mayChange}
                saveFault={save.error}
              />
            ),
          },
          {
            value: 'versions',
            label: 'Versions',
            content: <Versions config={config} isChanged={isChanged} />,
          },
          { value: 'use', label: 'Use it', content: <Use slug={slug} /> },
        ]}
      />
      <Leaving isChanged={isChanged} what="config" />
      {isDeleting && (
        <ConfirmByName
          title="Delete this config"
          name={slug}
          isOpen
          onClose={() => setDeleting(false)}
          isBusy={remove.isPending}
          fault={remove.error}
          onConfirm={() => remove.mutate()}
        >
          Calls that name <code>{slug}</code>, and keys that carry it as their default, are refused from that moment on.
          All of its versions go, too.
        </ConfirmByName>
      )}
    </>
  );
}

function Use({ slug }: { readonly slug: string }) {
  const call = `curl ${location.origin}/v1/chat/completions \\
  -H "authorization: Bearer $GATEWAY_KEY" \\
  -H "x-gateway-config: ${slug}" \\
  -H "content-type: application/json" \\
  -d '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"Hello"}]}'`;
  const python = `from openai import OpenAI

client = OpenAI(
    base_url="${location.origin}/v1",
    api_key=os.environ["GATEWAY_KEY"],
    default_headers={"x-gateway-config": "${slug}"},
)`;
  return (
    <Card title="Name it in calls" about="Or make it the default of an API key: then calls need not name it.">
      <Stack>
        <CodeBlock title="curl" code={call} />
        <CodeBlock title="Python" code={python} />
      </Stack>
    </Card>
  );
}
