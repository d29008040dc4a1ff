import { useState } from 'react';
import { api } from '../../api/client.ts';
import { faultAbout } from '../../api/fault.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { ManagedSettings } from '../../api/types.d.ts';
import { Button } from '../../design/button.tsx';
import { useDraft } from '../../design/draft.ts';
import { Field, Select, Textarea } from '../../design/field.tsx';
import { Card } from '../../design/layout.tsx';
import { ErrorNote, Skeleton } from '../../design/states.tsx';
import { useMay } from '../../shell/session.tsx';

const OF_ALL = '/v1/admin/organisation/managed-settings';
const OF_ONE = '/v1/admin/workspaces/{workspace}/managed-settings';

const written = (settings: Record<string, unknown> | null): string =>
  settings ? JSON.stringify(settings, null, 2) : '';

/** Null: nothing is given; undefined: it is no object. */
function parsed(text: string): Record<string, unknown> | null | undefined {
  if (text.trim() === '') return null;
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
const NO_OBJECT = 'This is no JSON object, such as { "model": "sonnet" }.';

/** Settings that coding agents fetch from here when their users sign in. */
export function Programs() {
  const may = useMay();
  const [workspace, setWorkspace] = useState('');
  const workspaces = useApi('/v1/admin/workspaces', { query: { page_size: 500 } }, { enabled: may('workspaces.list') });
  const ofAll = useApi(OF_ALL, {}, { enabled: workspace === '' });
  const ofOne = useApi(OF_ONE, { params: { workspace } }, { enabled: workspace !== '' });
  const found = workspace === '' ? ofAll : ofOne;
  return (
    <Card
      title="Settings of programs"
      about="What coding agents of your users fetch when they have signed in. What stands here for all stands above what a workspace says."
    >
      <div className="stack gap-4">
        <Field label="For">
          {(control) => (
            <Select
              {...control}
              value={workspace}
              onChange={setWorkspace}
              choices={[
                { value: '', label: 'Every workspace' },
                ...(workspaces.data?.data ?? []).map(({ slug, name }) => ({ value: slug, label: name })),
              ]}
            />
          )}
        </Field>
        {found.error && <ErrorNote error={found.error} onRetry={() => void found.refetch()} />}
        {!found.error && !found.data && <Skeleton lines={4} />}
        {found.data && <Written key={workspace} workspace={workspace} stored={found.data} />}
      </div>
    </Card>
  );
}

function Written({ workspace, stored }: { readonly workspace: string; readonly stored: ManagedSettings }) {
  const may = useMay();
  const before = { settings: written(stored.settings), desktop: written(stored.desktop) };
  const { draft, setDraft, saved } = useDraft(before);
  const save = useAction(
    async (sent: typeof before) => {
      const body = { settings: parsed(sent.settings) ?? null, desktop: parsed(sent.desktop) ?? null };
      const now =
        workspace === '' ? await api.put(OF_ALL, { body }) : await api.put(OF_ONE, { params: { workspace }, body });
      saved(sent, { settings: written(now.settings), desktop: written(now.desktop) });
    },
    { changes: [OF_ALL, OF_ONE], done: 'Saved. Programs get it when they ask next.', onFault: () => {} },
  );
  const isWrong = parsed(draft.settings) === undefined || parsed(draft.desktop) === undefined;
  const isSame = draft.settings === before.settings && draft.desktop === before.desktop;
  const field = (member: 'settings' | 'desktop', label: string, help: string) => (
    <Field
      label={label}
      isOptional
      help={help}
      error={parsed(draft[member]) === undefined ? NO_OBJECT : faultAbout(save.error, member)}
    >
      {(control) => (
        <Textarea
          {...control}
          rows={8}
          spellCheck={false}
          className="programs-text"
          readOnly={!may('organisation.manage')}
          value={draft[member]}
          onChange={(event) => setDraft({ ...draft, [member]: event.target.value })}
        />
      )}
    </Field>
  );
  return (
    <form
      className="stack gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate(draft);
      }}
    >
      {field('settings', 'Claude Code', 'Its managed settings, as JSON. Empty: none.')}
      {field('desktop', 'Claude Desktop', 'Its settings, as JSON. Empty: none.')}
      {save.error && <ErrorNote error={save.error} />}
      {may('organisation.manage') && (
        <div>
          <Button type="submit" look="primary" disabled={isSame || isWrong} isBusy={save.isPending}>
            Save
          </Button>
        </div>
      )}
    </form>
  );
}
