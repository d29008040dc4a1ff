import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { McpCapability, McpServer } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { SidePanel } from '../../design/dialog.tsx';
import { DiffView } from '../../design/diff-view.tsx';
import { Segmented, Switch } from '../../design/field.tsx';
import { Card, KeyValue, Stack } from '../../design/layout.tsx';
import { EmptyState, Note } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { useMay } from '../../shell/session.tsx';

type Type = McpCapability['type'];
const TYPES: readonly { readonly value: Type; readonly label: string }[] = [
  { value: 'tool', label: 'Tools' },
  { value: 'prompt', label: 'Prompts' },
  { value: 'resource', label: 'Resources' },
];
const MOST = 500;

const parsed = (definition: string | null): Record<string, unknown> | null => {
  try {
    return JSON.parse(definition ?? 'null');
  } catch {
    return null;
  }
};
/** One member in a line; what was cut is no JSON any more, and is shown as it is. */
const laidOut = (definition: string): string => {
  const value = parsed(definition);
  return value ? JSON.stringify(value, null, 2) : definition;
};
const aboutOf = ({ definition }: McpCapability): string => String(parsed(definition)?.description ?? '');

const Pin = ({ capability: { status, is_offered } }: { readonly capability: McpCapability }) => {
  if (!is_offered) return <Badge>not offered now</Badge>;
  if (status === 'changed')
    return (
      <Badge tone="warn" dot>
        changed
      </Badge>
    );
  if (status === 'pending')
    return (
      <Badge tone="info" dot>
        to be approved
      </Badge>
    );
  return status === 'approved' ? (
    <Badge tone="good" dot>
      as approved
    </Badge>
  ) : null;
};

/** What a server offers: a switch for each, and what changed since it was approved. */
export function Tools({ server: { slug } }: { readonly server: McpServer }) {
  const params = { slug };
  const may = useMay();
  const [type, setType] = useState<Type>('tool');
  const [open, setOpen] = useState<string | null>(null);
  const mayChange = may('mcp_servers.update');
  const list = useApi('/v1/mcp-servers/{slug}/capabilities', { params, query: { type, page_size: MOST } });
  const changes = [`/v1/mcp-servers/{slug}/capabilities`];
  const sync = useAction(() => api.post('/v1/mcp-servers/{slug}/sync', { params }), {
    changes: ['/v1/mcp-servers'],
    done: 'What it offers was read anew.',
  });
  const toggle = useAction(
    ({ name, enabled }: { name: string; enabled: boolean }) =>
      api.put('/v1/mcp-servers/{slug}/capabilities', { params, body: { capabilities: [{ name, type, enabled }] } }),
    { changes },
  );
  const approve = useAction(
    (those: readonly McpCapability[]) =>
      api.post('/v1/mcp-servers/{slug}/capabilities/approve', {
        params,
        body: { capabilities: those.map(({ name, hash }) => ({ name, type, hash: hash! })) },
      }),
    { changes, done: 'Approved as it is now.' },
  );
  const all = list.data?.data;
  const waiting = all?.filter(({ status, hash }) => hash && (status === 'changed' || status === 'pending')) ?? [];
  const opened = all?.find(({ name }) => name === open);
  const columns: readonly Column<McpCapability>[] = [
    {
      id: 'on',
      header: 'On',
      width: '64px',
      cell: ({ name, enabled }) => (
        <Switch
          checked={enabled}
          disabled={!mayChange || toggle.isPending}
          onChange={(next) => toggle.mutate({ name, enabled: next })}
        >
          <span className="hidden-visually">{name}</span>
        </Switch>
      ),
    },
    {
      id: 'name',
      header: 'Name',
      sort: ({ name }) => name,
      cell: ({ name }) => <code className="truncate">{name}</code>,
    },
    {
      id: 'about',
      header: 'Says of itself',
      hideBelow: 'small',
      cell: (capability) => <span className="soft mcp-about truncate">{aboutOf(capability)}</span>,
    },
    {
      id: 'pin',
      header: 'Definition',
      width: '150px',
      cell: (capability) => (
        <span className="line gap-1">
          <Pin capability={capability} />
          {capability.flags.map((flag) => (
            <Badge key={flag} tone="bad">
              {flag.replaceAll('_', ' ')}
            </Badge>
          ))}
        </span>
      ),
    },
  ];
  const read = mayChange && (
    <Button icon="refresh" isBusy={sync.isPending} onClick={() => sync.mutate()}>
      Read anew
    </Button>
  );
  return (
    <Stack>
      <div className="mcp-bar">
        <Segmented label="What it offers" value={type} choices={TYPES} onChange={setType} />
        {read}
      </div>
      {waiting.length > 0 && (
        <Note tone="warn">
          <div className="mcp-waiting">
            <span>
              {waiting.length === 1 ? 'One definition differs' : `${waiting.length} definitions differ`} from what was
              approved. Look at each before you approve it: models follow what tools say of themselves.
            </span>
            {mayChange && (
              <Button size="small" isBusy={approve.isPending} onClick={() => approve.mutate(waiting)}>
                Approve all as they are now
              </Button>
            )}
          </div>
        </Note>
      )}
      <Card isFlush>
        <Table
          label="What it offers"
          rows={all}
          columns={columns}
          rowKey={({ name }) => name}
          onOpen={({ name }) => setOpen(name)}
          openKey={open}
          error={list.error}
          onRetry={() => void list.refetch()}
          empty={
            <EmptyState icon="tools" title="Nothing is known here" action={read}>
              The server was not asked yet, or offers nothing of this kind.
            </EmptyState>
          }
        />
      </Card>
      {opened && (
        <SidePanel title={<code>{opened.name}</code>} isOpen onClose={() => setOpen(null)} width="wide">
          <Stack>
            <KeyValue
              rows={[
                ['Definition', <Pin key="pin" capability={opened} />],
                ['Seen first', <Ago key="first" at={opened.first_seen_at} />],
                ['Changed', <Ago key="changed" at={opened.changed_at} />],
                ['Hash now', <code key="hash">{opened.hash ?? '–'}</code>],
                ['Hash approved', <code key="approved">{opened.approved_hash ?? '–'}</code>],
              ]}
            />
            <Definition capability={opened} />
            {mayChange && opened.hash && opened.status !== 'approved' && (
              <div>
                <Button look="primary" icon="check" isBusy={approve.isPending} onClick={() => approve.mutate([opened])}>
                  Approve it as it is now
                </Button>
              </div>
            )}
          </Stack>
        </SidePanel>
      )}
    </Stack>
  );
}

/** What it says of itself; where that is not what was approved, what changed. */
function Definition({
  capability: { definition, approved_definition, status },
}: {
  readonly capability: McpCapability;
}) {
  if (definition === null) return null;
  if (status === 'changed' && approved_definition !== null)
    return (
      <>
        <h3>What changed since it was approved</h3>
        <DiffView
          label="What changed since it was approved"
          before={laidOut(approved_definition)}
          after={laidOut(definition)}
        />
      </>
    );
  return (
    <>
      <h3>What it says of itself now</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled must be reachable by keyboard */}
      <pre className="versions-text mcp-definition" tabIndex={0}>
        {laidOut(definition)}
      </pre>
    </>
  );
}
