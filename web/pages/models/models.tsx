import { useQueries } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, type ResponseOf, send } from '../../api/client.ts';
import { faultOf } from '../../api/fault.ts';
import { useApi } from '../../api/hooks.ts';
import type { VirtualKey } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { CopyButton } from '../../design/copy.tsx';
import { Select } from '../../design/field.tsx';
import { FilterInput } from '../../design/filter-input.tsx';
import { formatMoney, formatNumber } from '../../design/format.ts';
import { Card, PageHeader, Row, Stack } from '../../design/layout.tsx';
import { EmptyState, messageOf, Note, Progress } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { useFilters } from '../../shell/filters.ts';
import { useWorkspace } from '../../shell/session.tsx';

const FILTERS = { find: '', provider: '' };
/** As many lists are asked for as a page can show; the rest is reached by choosing a provider. */
const MOST_LISTS = 20;

/** As many as one question may name. */
const MOST_PRICED = 5_000;
const LONGEST_NAME = 256;

type Fact = ResponseOf<'/v1/virtual-keys/{slug}/prices', 'post'>['data'][number];

interface Model {
  readonly key: string;
  readonly id: string;
  readonly virtualKey: VirtualKey;
  readonly owner: string;
  readonly context: number | null;
  /** What the gateway knows of it; null: it was not asked. */
  readonly fact: Fact | null;
  /** The day on which its provider takes it away, where the provider says so. */
  readonly retires: string | null;
}

/** What providers say of a model beside its name, each in its own way. */
interface Listed {
  readonly id?: unknown;
  readonly owned_by?: unknown;
  readonly context_window?: unknown;
  readonly context_length?: unknown;
  readonly deprecation?: unknown;
  readonly retirement_date?: unknown;
}

async function listOf(virtualKey: VirtualKey, signal: AbortSignal): Promise<readonly Model[]> {
  const response = await send('/v1/models', { signal, headers: { 'x-gateway-virtual-key': virtualKey.slug } });
  if (!response.ok) throw await faultOf(response);
  const { data = [] }: { data?: readonly Listed[] } = await response.json();
  const names = data.map(({ id }) => String(id)).filter((name) => name.length > 0 && name.length <= LONGEST_NAME);
  const known = await api.post('/v1/virtual-keys/{slug}/prices', {
    params: { slug: virtualKey.slug },
    query: { workspace_id: virtualKey.workspace_id },
    body: { models: names.slice(0, MOST_PRICED) },
    signal,
  });
  const facts = new Map(known.data.map((each) => [each.model, each]));
  return data.map(({ id, owned_by, context_window, context_length, deprecation, retirement_date }) => {
    const fact = facts.get(String(id)) ?? null;
    return {
      key: `${virtualKey.slug}/${id}`,
      id: String(id),
      virtualKey,
      owner: typeof owned_by === 'string' ? owned_by : '',
      context: Number(context_window ?? context_length) || (fact?.context ?? null),
      fact,
      retires: dayIn(retirement_date) ?? dayIn(deprecation) ?? null,
    };
  });
}

/** A day, where what a provider says is one. */
function dayIn(value: unknown): string | null {
  const text = value !== null && typeof value === 'object' && 'date' in value ? value.date : value;
  return typeof text === 'string' && /^\d{4}-\d{2}-\d{2}/.test(text) ? text.slice(0, 10) : null;
}

const perMillion = (dollars: number | null | undefined): string =>
  dollars === null || dollars === undefined ? '–' : dollars === 0 ? 'free' : formatMoney(dollars);

const COLUMNS: readonly Column<Model>[] = [
  {
    id: 'model',
    header: 'Model',
    sort: (model) => model.id,
    cell: (model) => (
      <span className="line gap-1">
        <code>{model.id}</code>
        <CopyButton text={`@${model.virtualKey.slug}/${model.id}`} label={`Copy the name of ${model.id}`} />
      </span>
    ),
  },
  {
    id: 'reached',
    header: 'Reached by',
    sort: (model) => model.virtualKey.slug,
    cell: (model) => <code className="soft">@{model.virtualKey.slug}</code>,
  },
  {
    id: 'provider',
    header: 'Provider',
    hideBelow: 'small',
    sort: (model) => model.virtualKey.provider,
    cell: (model) => model.virtualKey.provider,
  },
  {
    id: 'input',
    header: 'In, a million',
    align: 'end',
    hideBelow: 'small',
    sort: ({ fact }) => fact?.input ?? -1,
    cell: ({ fact }) => perMillion(fact?.input),
  },
  {
    id: 'output',
    header: 'Out, a million',
    align: 'end',
    hideBelow: 'small',
    sort: ({ fact }) => fact?.output ?? -1,
    cell: ({ fact }) => perMillion(fact?.output),
  },
  {
    id: 'note',
    header: 'To know',
    hideBelow: 'large',
    cell: ({ fact, retires, owner }) =>
      retires ? (
        <Badge tone="warn">retires {retires}</Badge>
      ) : fact?.note ? (
        <Badge tone="warn">{fact.note}</Badge>
      ) : fact && !fact.is_priced ? (
        <span className="soft">no price known</span>
      ) : (
        <span className="soft">{owner && `by ${owner}`}</span>
      ),
  },
  {
    id: 'context',
    header: 'Context',
    align: 'end',
    hideBelow: 'medium',
    sort: (model) => model.context ?? 0,
    cell: (model) => (model.context ? formatNumber(model.context) : '–'),
  },
];

/** Every model that the virtual keys here reach, as their providers list them now. */
export default function Models() {
  const { id: workspace_id } = useWorkspace();
  const [filters, setFilters] = useFilters(FILTERS);
  const keys = useApi('/v1/virtual-keys', { query: { workspace_id, page_size: 200 } });
  const all = keys.data?.data ?? [];
  const chosen = (filters.provider ? all.filter(({ slug }) => slug === filters.provider) : all).slice(0, MOST_LISTS);
  const lists = useQueries({
    queries: chosen.map((virtualKey) => ({
      queryKey: ['/v1/models', virtualKey.slug],
      queryFn: ({ signal }: { signal: AbortSignal }) => listOf(virtualKey, signal),
      staleTime: 300_000,
      retry: false,
    })),
  });
  const wanted = filters.find.trim().toLowerCase();
  const answered = lists.filter(({ isPending }) => !isPending).length;
  const models = useMemo(
    () =>
      lists
        .flatMap(({ data = [] }) => data)
        .filter((model) => `${model.id} ${model.owner} ${model.virtualKey.slug}`.toLowerCase().includes(wanted)),
    [lists, wanted],
  );
  const silent = lists.flatMap(({ error }, index) => (error ? [{ error, slug: chosen[index]!.slug }] : []));
  return (
    <>
      <PageHeader
        title="Models"
        about="What your providers offer now, what it costs by the lists in force, and the name by which a call reaches it."
      />
      <Stack gap={3}>
        <Row>
          <FilterInput label="Filter models" value={filters.find} onChange={(find) => setFilters({ find })} />
          <Select
            aria-label="Provider"
            value={filters.provider}
            onChange={(provider) => setFilters({ provider })}
            choices={[
              { value: '', label: 'All providers' },
              ...all.map(({ slug, name }) => ({ value: slug, label: name })),
            ]}
          />
        </Row>
        {answered < lists.length && <Progress label="Providers are asked" value={answered} most={lists.length} />}
        {silent.map(({ error, slug }) => (
          <Note key={slug} tone="warn">
            <code>@{slug}</code> gives no list: {messageOf(error)}
          </Note>
        ))}
        <Card isFlush>
          <Table
            label="Models"
            rows={keys.data && (answered > 0 || lists.length === 0) ? models : undefined}
            columns={COLUMNS}
            rowKey={(model) => model.key}
            error={keys.error}
            empty={
              <EmptyState icon="cube" title={wanted ? 'No model is called that' : 'No models yet'}>
                {wanted ? null : 'Add a provider: its models appear here.'}
              </EmptyState>
            }
          />
        </Card>
      </Stack>
    </>
  );
}
