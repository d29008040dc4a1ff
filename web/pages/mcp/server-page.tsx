import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { McpServer } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { Button, IconButton } from '../../design/button.tsx';
import { ConfirmByName } from '../../design/dialog.tsx';
import { formatDuration } from '../../design/format.ts';
import { Card, KeyValue, PageHeader, Stack } from '../../design/layout.tsx';
import { Menu, Tabs } from '../../design/menu.tsx';
import { ErrorNote, Note, Skeleton } from '../../design/states.tsx';
import { Ago } from '../../design/time.tsx';
import { useFilters } from '../../shell/filters.ts';
import { useMay } from '../../shell/session.tsx';
import { Connections } from './connections.tsx';
import { Identity } from './identity.tsx';
import { WAYS_IN } from './mcp.tsx';
import { Settings } from './settings.tsx';
import { AddressToPaste } from './snippets.tsx';
import { Tools } from './tools.tsx';
import { ServerUsage } from './usage.tsx';

const FILTERS = { tab: 'overview' };

export default function ServerPage() {
  const { slug } = useParams({ strict: false }) as { slug: string };
  const found = useApi('/v1/mcp-servers/{slug}', { params: { slug } });
  if (found.data) return <Opened key={found.data.id} server={found.data} />;
  return found.error ? <ErrorNote error={found.error} onRetry={() => void found.refetch()} /> : <Skeleton lines={8} />;
}

function Opened({ server }: { readonly server: McpServer }) {
  const { slug, name } = server;
  const params = { slug };
  const may = useMay();
  const navigate = useNavigate();
  const [filters, setFilters] = useFilters(FILTERS);
  const [isDeleting, setDeleting] = useState(false);
  const test = useAction(() => api.post('/v1/mcp-servers/{slug}/test', { params }), {
    changes: ['/v1/mcp-servers'],
    onFault: () => {},
  });
  const remove = useAction(() => api.delete('/v1/mcp-servers/{slug}', { params }), {
    changes: ['/v1/mcp-servers'],
    done: `The server ${name} is removed.`,
    onDone: () => void navigate({ to: '/mcp' }),
    onFault: () => {},
  });
  return (
    <>
      <PageHeader
        title={name}
        about={
          <>
            <Link to="/mcp">MCP</Link> / <code>{slug}</code>
          </>
        }
      >
        {may('mcp_servers.delete') && (
          <Menu
            label={`Actions for ${name}`}
            trigger={<IconButton icon="more" label={`Actions for ${name}`} />}
            items={[{ label: 'Remove', icon: 'trash', isDanger: true, onSelect: () => setDeleting(true) }]}
          />
        )}
        <Button look="primary" icon="pulse" isBusy={test.isPending} onClick={() => test.mutate()}>
          Test the connection
        </Button>
      </PageHeader>
      <div className="mcp-tested" aria-live="polite">
        {test.error ? <ErrorNote error={test.error} /> : test.data && <Tested tested={test.data} />}
      </div>
      <Tabs
        label="Of this server"
        value={filters.tab}
        onChange={(tab) => setFilters({ tab })}
        tabs={[
          { value: 'overview', label: 'Overview', content: <Overview server={server} /> },
          { value: 'tools', label: 'Tools', content: <Tools server={server} /> },
          ...(may('analytics.view') ? [{ value: 'use', label: 'Use', content: <ServerUsage slug={slug} /> }] : []),
          { value: 'people', label: 'People', content: <Connections server={server} /> },
          { value: 'settings', label: 'Settings', content: <Settings server={server} /> },
        ]}
      />
      {isDeleting && (
        <ConfirmByName
          title="Remove this server"
          name={slug}
          action="Remove"
          isOpen
          onClose={() => setDeleting(false)}
          isBusy={remove.isPending}
          fault={remove.error}
          onConfirm={() => remove.mutate()}
        >
          Clients that use <code>{server.endpoint}</code> are refused from that moment on. Its switches, approvals and
          the accounts that users connected go, too.
        </ConfirmByName>
      )}
    </>
  );
}

const Tested = ({
  tested,
}: {
  readonly tested: {
    success: boolean;
    status_code: number | null;
    response_time_ms: number;
    server_name: string | null;
    protocol_version: string | null;
    error: string | null;
  };
}) =>
  tested.success ? (
    <Note tone="good">
      <strong>{tested.server_name ?? 'The server'}</strong> answered in {formatDuration(tested.response_time_ms)}, in
      the version {tested.protocol_version ?? 'it did not name'}. What it offers was read anew.
    </Note>
  ) : (
    <Note tone="bad">
      <strong>It did not work.</strong> {tested.error ?? `It answered ${tested.status_code}.`}
    </Note>
  );

function Overview({ server }: { readonly server: McpServer }) {
  const { slug } = server;
  const metadata = useApi('/v1/mcp-servers/{slug}/metadata', { params: { slug } }).data;
  return (
    <div className="mcp-overview">
      <Stack>
        {server.warnings.map((warning) => (
          <Note key={warning} tone="warn">
            {warning}
          </Note>
        ))}
        <AddressToPaste
          about="People sign in with their browser; programs send a key of this workspace."
          name={slug}
          url={server.endpoint}
        />
      </Stack>
      <Stack>
        <Card title="The server">
          <KeyValue
            rows={[
              ['Address', <code key="url">{server.url}</code>],
              ['The gateway gets in with', WAYS_IN[server.auth_type] ?? server.auth_type],
              [
                'Says it is',
                metadata?.server_name ? `${metadata.server_name} ${metadata.server_version ?? ''}` : 'not asked yet',
              ],
              ['Speaks', metadata?.protocol_version ?? '–'],
              [
                'Last asked',
                metadata?.last_synced_at ? (
                  <span key="synced" className="line gap-2">
                    <Ago at={metadata.last_synced_at} />
                    <Badge tone={metadata.sync_status === 'failed' ? 'bad' : 'good'}>{metadata.sync_status}</Badge>
                  </span>
                ) : (
                  'never'
                ),
              ],
              ...(metadata?.sync_error ? [['It said', metadata.sync_error] as const] : []),
            ]}
          />
        </Card>
        <Identity server={server} />
      </Stack>
    </div>
  );
}
