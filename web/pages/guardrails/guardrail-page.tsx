import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ApiFault } from '../../api/fault.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import { Badge } from '../../design/badge.tsx';
import { Button, IconButton } from '../../design/button.tsx';
import { ConfirmByName } from '../../design/dialog.tsx';
import { useDraft } from '../../design/draft.ts';
import { PageHeader } from '../../design/layout.tsx';
import { Menu, Tabs } from '../../design/menu.tsx';
import { ErrorNote, Note, Skeleton } from '../../design/states.tsx';
import { VersionList } from '../../design/versions.tsx';
import { useFilters } from '../../shell/filters.ts';
import { Leaving } from '../../shell/leaving.tsx';
import { useMay } from '../../shell/session.tsx';
import { Bench } from './bench.tsx';
import { Checks } from './checks.tsx';
import { bodyOf, type Draft, draftOf, type WholeGuardrail } from './guardrail.ts';
import { GuardrailFigures, LatestHits } from './hits.tsx';
import { Uses } from './uses.tsx';

const FILTERS = { tab: 'edit' };

export default function GuardrailPage() {
  const { slug } = useParams({ strict: false }) as { slug: string };
  const found = useApi('/v1/guardrails/{guardrail}', { params: { guardrail: slug } });
  const checks = useApi('/v1/guardrail-checks');
  const error = found.error ?? checks.error;
  if (found.data && checks.data) return <Opened key={found.data.id} guardrail={found.data} known={checks.data.data} />;
  return error ? <ErrorNote error={error} onRetry={() => void found.refetch()} /> : <Skeleton lines={8} />;
}

function Opened({
  guardrail,
  known,
}: {
  readonly guardrail: WholeGuardrail;
  readonly known: Parameters<typeof Checks>[0]['known'];
}) {
  const { slug, name } = guardrail;
  const params = { guardrail: slug };
  const may = useMay();
  const navigate = useNavigate();
  const [filters, setFilters] = useFilters(FILTERS);
  const stored = draftOf(guardrail);
  const { draft, setDraft, saved } = useDraft<Draft>(stored);
  const [isDeleting, setDeleting] = useState(false);
  const isChanged = JSON.stringify(draft) !== JSON.stringify(stored);
  const isOrganisations = guardrail.workspace_id === null;
  const mayChange = may('guardrails.update') && (!isOrganisations || may('organisation.manage'));
  const mayDelete = may('guardrails.delete') && (!isOrganisations || may('organisation.manage'));
  const save = useAction(
    async (sent: Draft) => {
      await api.put('/v1/guardrails/{guardrail}', { params, body: bodyOf(sent) });
      saved(sent, draftOf(await api.get('/v1/guardrails/{guardrail}', { params })));
    },
    { changes: ['/v1/guardrails'], done: 'Saved. Calls meet it from now on.', onFault: () => {} },
  );
  const remove = useAction(() => api.delete('/v1/guardrails/{guardrail}', { params }), {
    changes: ['/v1/guardrails'],
    done: `The guardrail ${name} is deleted.`,
    onDone: () => void navigate({ to: '/guardrails', ignoreBlocker: true }),
    onFault: () => {},
  });
  const fault = save.error instanceof ApiFault ? save.error : null;
  return (
    <>
      <PageHeader
        title={name}
        about={
          <>
            <Link to="/guardrails">Guardrails</Link> / <code>{slug}</code>
          </>
        }
      >
        {isOrganisations && <Badge tone="accent">organisation</Badge>}
        {isChanged && <Badge tone="warn">not saved</Badge>}
        {mayDelete && (
          <Menu
            label={`Actions for ${name}`}
            trigger={<IconButton icon="more" label={`Actions for ${name}`} />}
            items={[{ label: 'Delete', icon: 'trash', isDanger: true, onSelect: () => setDeleting(true) }]}
          />
        )}
        {mayChange && isChanged && <Button onClick={() => setDraft(stored)}>Discard</Button>}
        {mayChange && (
          <Button look="primary" isBusy={save.isPending} disabled={!isChanged} onClick={() => save.mutate(draft)}>
            Save
          </Button>
        )}
      </PageHeader>
      <Tabs
        label="Of this guardrail"
        value={filters.tab}
        onChange={(tab) => setFilters({ tab })}
        tabs={[
          {
            value: 'edit',
            label: 'Checks',
            content: (
              <div className="guardrails-editor">
                <Checks
                  known={known}
                  draft={draft}
                  onChange={setDraft}
                  isReadOnly={!mayChange}
                  fault={fault}
                  title={name}
                />
                {may('guardrails.update') && <Bench draft={draft} />}
              </div>
            ),
          },
          {
            value: 'uses',
            label: 'Where it holds',
            content: <Uses guardrail={guardrail} />,
          },
          ...(may('logs.list') || may('analytics.view')
            ? [
                {
                  value: 'hits',
                  label: 'Hits',
                  content: (
                    <div className="stack gap-4">
                      <GuardrailFigures guardrail={slug} />
                      {may('logs.list') && <LatestHits guardrail={slug} />}
                    </div>
                  ),
                },
              ]
            : []),
          {
            value: 'versions',
            label: 'Versions',
            content: <Versions guardrail={guardrail} mayRestore={mayChange} isChanged={isChanged} />,
          },
        ]}
      />
      <Leaving isChanged={isChanged} what="guardrail" />
      {isDeleting && (
        <ConfirmByName
          title="Delete this guardrail"
          name={slug}
          isOpen
          onClose={() => setDeleting(false)}
          isBusy={remove.isPending}
          fault={remove.error}
          onConfirm={() => remove.mutate()}
        >
          Configs that name <code>{slug}</code> are refused from that moment on, and all of its versions go. While
          defaults of a key, a workspace or the organisation name it, it cannot be deleted.
        </ConfirmByName>
      )}
    </>
  );
}

function Versions({
  guardrail,
  mayRestore,
  isChanged,
}: {
  readonly guardrail: WholeGuardrail;
  readonly mayRestore: boolean;
  readonly isChanged: boolean;
}) {
  const params = { guardrail: guardrail.slug };
  const list = useApi('/v1/guardrails/{guardrail}/versions', { params, query: { page_size: 100 } });
  const restore = useAction(
    (id: string) => {
      const version = list.data!.data.find((each) => each.id === id)!;
      return api.put('/v1/guardrails/{guardrail}', { params, body: bodyOf(draftOf(version)) });
    },
    { changes: ['/v1/guardrails'], done: 'Restored as a new version.', onFault: () => {} },
  );
  if (list.error) return <ErrorNote error={list.error} onRetry={() => void list.refetch()} />;
  if (!list.data) return <Skeleton lines={6} />;
  return (
    <VersionList
      versions={list.data.data.map(({ id, created_at, checks, actions }) => ({
        id,
        created_at,
        text: JSON.stringify({ checks, actions }, null, 2),
      }))}
      total={list.data.total}
      currentId={guardrail.version_id}
      onRestore={mayRestore && !isChanged ? (id) => restore.mutate(id) : null}
      isBusy={restore.isPending}
      fault={restore.error}
      note={isChanged && <Note tone="warn">Save or discard what you changed before you restore a version.</Note>}
    />
  );
}
