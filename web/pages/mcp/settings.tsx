import { api } from '../../api/client.ts';
import { ApiFault } from '../../api/fault.ts';
import { useAction } from '../../api/hooks.ts';
import type { McpServer } from '../../api/types.d.ts';
import { Button } from '../../design/button.tsx';
import { useDraft } from '../../design/draft.ts';
import { Editor } from '../../design/editor/editor.tsx';
import { Segmented } from '../../design/field.tsx';
import { Card, Stack } from '../../design/layout.tsx';
import { ErrorNote } from '../../design/states.tsx';
import { Leaving } from '../../shell/leaving.tsx';
import { useMay } from '../../shell/session.tsx';
import { parsed, written } from '../routing/config.ts';

const PINS = [
  { value: 'off', label: 'Let it pass' },
  { value: 'flag', label: 'Tell of it' },
  { value: 'block', label: 'Hide the tool until it is approved' },
] as const;

/** What is masked in it stays as it is: only members that were changed are sent. */
function changedMembers(before: Record<string, unknown>, after: Record<string, unknown>): Record<string, unknown> {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...names].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  return Object.fromEntries(changed.map((name) => [name, after[name] ?? null]));
}

export function Settings({ server }: { readonly server: McpServer }) {
  const params = { slug: server.slug };
  const isReadOnly = !useMay()('mcp_servers.update');
  const stored = written(server.configurations);
  const { draft: text, setDraft: setText, saved } = useDraft(stored);
  const save = useAction(
    async ({ sent, changed }: { sent: string; changed: Record<string, unknown> }) => {
      const made = await api.put('/v1/mcp-servers/{slug}', { params, body: { configurations: changed } });
      saved(sent, written(made.configurations));
    },
    { changes: ['/v1/mcp-servers'], done: 'Saved. Calls go by it from now on.', onFault: () => {} },
  );
  const value = parsed(text);
  const isOther = (settings: Record<string, unknown> | null) => settings === null || written(settings) !== stored;
  const isChanged = isOther(value);
  const fault = save.error instanceof ApiFault ? save.error : null;
  const path = fault?.param?.replace(/^configurations\.?/, '') ?? null;
  const { tool_pinning } = server.configurations as { tool_pinning?: { mode?: 'flag' | 'block' } };
  const submit = (sent: string) => {
    const now = parsed(sent);
    if (now && isOther(now)) save.mutate({ sent, changed: changedMembers(server.configurations, now) });
  };
  return (
    <Stack>
      <Card title="When a tool changes what it says of itself">
        <Segmented
          label="When a tool changes what it says of itself"
          value={tool_pinning?.mode ?? 'off'}
          choices={isReadOnly ? PINS.filter(({ value: each }) => each === (tool_pinning?.mode ?? 'off')) : PINS}
          onChange={(mode) =>
            save.mutate({
              // What is being written below stays.
              sent: stored,
              changed: { tool_pinning: mode === 'off' ? null : { ...tool_pinning, mode } },
            })
          }
        />
      </Card>
      <Card
        title="Configurations"
        about="Headers, identity, claims, guardrails, limits. Secrets are masked; what you do not change stays."
        actions={
          !isReadOnly && (
            <Button look="primary" isBusy={save.isPending} disabled={!isChanged || !value} onClick={() => submit(text)}>
              Save
            </Button>
          )
        }
      >
        <Stack gap={3}>
          <Editor
            label="Configurations"
            value={text}
            onChange={setText}
            onSave={submit}
            isReadOnly={isReadOnly}
            faults={fault && path !== null ? [{ path, message: fault.message }] : []}
            height="320px"
          />
          {save.error && <ErrorNote error={save.error} />}
        </Stack>
      </Card>
      <Leaving isChanged={isChanged} what="server" />
    </Stack>
  );
}
