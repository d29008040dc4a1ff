import { Link } from '@tanstack/react-router';
import { api, type ResponseOf } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { Guardrail } from '../../api/types.d.ts';
import { Switch } from '../../design/field.tsx';
import { Card } from '../../design/layout.tsx';
import { EmptyState } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';

type Defaults = ResponseOf<'/v1/admin/organisation/defaults'>;
type Side = 'input_guardrails' | 'output_guardrails';
const PATH = '/v1/admin/organisation/defaults';

/** Whether a list names a guardrail: by its id or its slug. */
const names = (defaults: Defaults | undefined, side: Side, { id, slug }: Guardrail) =>
  defaults?.[side]?.some((each) => each === id || each === slug) ?? false;

/** The guardrails of the organisation, and which of them every call of every workspace meets. */
export function GuardrailsForAll() {
  const list = useApi('/v1/guardrails', { query: { page_size: 500 } });
  const defaults = useApi('/v1/admin/organisation/defaults');
  const save = useAction(
    async ({ side, guardrail, isOn }: { side: Side; guardrail: Guardrail; isOn: boolean }) => {
      // As it is now: what is shown may be of before the last switch.
      const now = await api.get(PATH);
      const others = (now[side] ?? []).filter((each) => each !== guardrail.id && each !== guardrail.slug);
      return api.put(PATH, { body: { [side]: isOn ? [...others, guardrail.slug] : others } });
    },
    { changes: [PATH, '/v1/guardrails'], done: 'Saved. Calls meet it from now on.' },
  );
  const side = (which: Side, header: string): Column<Guardrail> => ({
    id: which,
    header,
    width: '150px',
    cell: (guardrail) => (
      <Switch
        checked={names(defaults.data, which, guardrail)}
        disabled={!defaults.data || save.isPending}
        onChange={(isOn) => save.mutate({ side: which, guardrail, isOn })}
      >
        <span className="hidden-visually">
          {guardrail.name} looks at {header.toLowerCase()}
        </span>
      </Switch>
    ),
  });
  const columns: readonly Column<Guardrail>[] = [
    {
      id: 'name',
      header: 'Guardrail',
      sort: ({ name }) => name,
      cell: ({ name, slug }) => (
        <Link to="/guardrails/$slug" params={{ slug } as never}>
          {name}
        </Link>
      ),
    },
    side('input_guardrails', 'Every request'),
    side('output_guardrails', 'Every answer'),
  ];
  return (
    <Card
      title="Guardrails that hold for every call"
      about="They come before those of a workspace or a key, and nobody below can switch them off."
      isFlush
    >
      <Table
        label="Guardrails of the organisation"
        rows={list.data?.data.filter(({ workspace_id }) => workspace_id === null)}
        columns={columns}
        rowKey={({ id }) => id}
        error={list.error ?? defaults.error}
        onRetry={() => void list.refetch()}
        empty={
          <EmptyState
            icon="shield"
            title="The organisation has no guardrails yet"
            action={
              <Link to="/guardrails" className="button button-plain">
                To the guardrails
              </Link>
            }
          >
            Create one “for the whole organisation”; then it can be made to hold for every call here.
          </EmptyState>
        }
      />
    </Card>
  );
}
