import { useNavigate } from '@tanstack/react-router';
import { useCallback, useMemo, useState } from 'react';
import { api } from '../api/client.ts';
import { faultAbout } from '../api/fault.ts';
import { useAction, useApi } from '../api/hooks.ts';
import type { View } from '../api/types.d.ts';
import { Button, IconButton } from '../design/button.tsx';
import { ConfirmByName, FormDialog } from '../design/dialog.tsx';
import { Checkbox, Field, Input, Switch } from '../design/field.tsx';
import { Icon } from '../design/icon.tsx';
import { Popover } from '../design/menu.tsx';
import { ErrorNote, Skeleton } from '../design/states.tsx';
import { useAddress } from './address.ts';
import { useCommands } from './palette.tsx';
import { useMay, useWorkspace } from './session.tsx';

type Page = View['page'];
type Query = Readonly<Record<string, string>>;

/** What is open beside the list is of the moment, and where one acts is not for the view to say. */
const NOT_SAVED = new Set(['workspace', 'open', 'tab', 'live']);

const queryOf = (search: Readonly<Record<string, unknown>>): Query =>
  Object.fromEntries(
    Object.entries(search)
      .filter(([name, value]) => !NOT_SAVED.has(name) && value !== undefined && value !== null && value !== '')
      .map(([name, value]) => [name, String(value)]),
  );

/** As the address writes it: a number without quotes. */
const searchOf = (query: Query): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(query).map(([name, value]) => [
      name,
      /^(true|false|\d{1,15})$/.test(value) ? JSON.parse(value) : value,
    ]),
  );

const isSame = (one: Query, other: Query) =>
  Object.keys(one).length === Object.keys(other).length &&
  Object.entries(one).every(([name, value]) => other[name] === value);

type Asking = { readonly view: View | null } | { readonly doomed: View };

/** Views of this page that were saved, one's own and the workspace's: opens, saves, renames, shares and deletes them. */
export function SavedViews({ page }: { readonly page: Page }) {
  const { id: workspace_id } = useWorkspace();
  const may = useMay();
  const navigate = useNavigate();
  const now = queryOf(useAddress());
  const [isOpen, setOpen] = useState(false);
  const [asking, setAsking] = useState<Asking | null>(null);
  const listed = useApi(
    '/v1/views',
    { query: { workspace_id, page, page_size: 400 } },
    { enabled: may('views.list'), isLater: true },
  );
  const views = listed.data?.data;
  const openView = useCallback(
    ({ query }: View) => void navigate({ to: `/${page}` as string, search: searchOf(query) as never }),
    [navigate, page],
  );
  useCommands(
    useMemo(
      () =>
        (views ?? []).map((view) => ({
          label: `View: ${view.name}`,
          icon: 'star' as const,
          words: 'open saved',
          run: () => openView(view),
        })),
      [views, openView],
    ),
  );
  if (!may('views.list')) return null;
  const shown = views?.find(({ query }) => isSame(query, now));
  const ask = (next: Asking) => {
    setOpen(false);
    setAsking(next);
  };
  const group = (label: string, isShared: boolean) => {
    const own = views?.filter(({ is_shared }) => is_shared === isShared) ?? [];
    if (own.length === 0) return null;
    return (
      <section aria-label={label}>
        <h3 className="views-head">{label}</h3>
        <ul>
          {own.map((view) => (
            <li key={view.id} className="views-row">
              <button
                type="button"
                className="views-open truncate"
                aria-current={view === shown || undefined}
                onClick={() => {
                  setOpen(false);
                  openView(view);
                }}
              >
                {view.name}
              </button>
              {may('views.update') && (
                <IconButton size="small" icon="edit" label={`Change ${view.name}`} onClick={() => ask({ view })} />
              )}
              {may('views.delete') && (
                <IconButton
                  size="small"
                  icon="trash"
                  label={`Delete ${view.name}`}
                  onClick={() => ask({ doomed: view })}
                />
              )}
            </li>
          ))}
        </ul>
      </section>
    );
  };
  return (
    <>
      <Popover
        label="Saved views"
        isOpen={isOpen}
        onOpenChange={setOpen}
        trigger={
          <button type="button" className="button button-plain button-medium views-button">
            <Icon name="star" />
            <span className="truncate">{shown ? shown.name : 'Views'}</span>
            <Icon name="down" size={12} />
          </button>
        }
      >
        <div className="views">
          {listed.error ? (
            <ErrorNote error={listed.error} onRetry={() => void listed.refetch()} />
          ) : !views ? (
            <Skeleton lines={3} />
          ) : views.length === 0 ? (
            <p className="soft">Save what this page shows, and find it here again.</p>
          ) : (
            <>
              {group('Yours', false)}
              {group('Shared in this workspace', true)}
            </>
          )}
          {may('views.create') && (
            <Button icon="plus" size="small" onClick={() => ask({ view: null })}>
              Save this view
            </Button>
          )}
        </div>
      </Popover>
      {asking && 'doomed' in asking && <DeleteView view={asking.doomed} onClose={() => setAsking(null)} />}
      {asking && 'view' in asking && (
        <EditView view={asking.view} page={page} now={now} onClose={() => setAsking(null)} />
      )}
    </>
  );
}

function EditView({
  view,
  page,
  now,
  onClose,
}: {
  /** Null: a new one. */
  readonly view: View | null;
  readonly page: Page;
  readonly now: Query;
  readonly onClose: () => void;
}) {
  const { id: workspace_id } = useWorkspace();
  const [name, setName] = useState(view?.name ?? '');
  const [isShared, setShared] = useState(view?.is_shared ?? false);
  const [isTaken, setTaken] = useState(false);
  const save = useAction<void, View>(
    () =>
      view
        ? api.put('/v1/views/{id}', {
            params: { id: view.id },
            body: { name, is_shared: isShared, ...(isTaken && { query: now }) },
          })
        : api.post('/v1/views', { body: { name, page, query: now, is_shared: isShared, workspace_id } }),
    { changes: ['/v1/views'], done: `The view ${name.trim()} is saved.`, onDone: onClose, onFault: () => {} },
  );
  const fault = faultAbout(save.error, 'name');
  return (
    <FormDialog
      title={view ? 'Change this view' : 'Save this view'}
      about={view ? undefined : 'The time, the filter and what is chosen on this page.'}
      submit="Save"
      width="narrow"
      isOpen
      onClose={onClose}
      isBusy={save.isPending}
      fault={fault ? null : save.error}
      onSubmit={() => save.mutate()}
    >
      <Field label="Name" error={fault}>
        {(control) => (
          <Input
            {...control}
            required
            maxLength={255}
            placeholder="Spend of the team by model"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Switch
        checked={isShared}
        onChange={setShared}
        help={
          isShared ? 'Everybody in this workspace who sees figures can open, change and delete it.' : 'Only you see it.'
        }
      >
        Share with the workspace
      </Switch>
      {view && !isSame(view.query, now) && (
        <Checkbox checked={isTaken} onChange={setTaken} help="In place of what it shows until now.">
          Save what the page shows now
        </Checkbox>
      )}
    </FormDialog>
  );
}

function DeleteView({ view, onClose }: { readonly view: View; readonly onClose: () => void }) {
  const remove = useAction(() => api.delete('/v1/views/{id}', { params: { id: view.id } }), {
    changes: ['/v1/views'],
    done: `The view ${view.name} is deleted.`,
    onDone: onClose,
    onFault: () => {},
  });
  return (
    <ConfirmByName
      title="Delete this view"
      name={view.name}
      isOpen
      onClose={onClose}
      isBusy={remove.isPending}
      fault={remove.error}
      onConfirm={() => remove.mutate()}
    >
      {view.is_shared
        ? 'Nobody in this workspace can open it any more. Calls and figures stay.'
        : 'You cannot open it any more. Calls and figures stay.'}
    </ConfirmByName>
  );
}
