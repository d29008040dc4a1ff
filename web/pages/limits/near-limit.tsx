import { useQueries } from '@tanstack/react-query';
import { useState } from 'react';
import { query, useApi } from '../../api/hooks.ts';
import type { ApiKey, UsageLimitsPolicy } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { Segmented } from '../../design/field.tsx';
import { Card, Row, Stack } from '../../design/layout.tsx';
import { EmptyState, ErrorNote, Progress, Skeleton } from '../../design/states.tsx';
import { Ago } from '../../design/time.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { entityName, nameOfPolicy, spentOf } from './policy.ts';

type Kind = 'API key' | 'Virtual key' | 'Workspace' | 'Policy';

interface Bar {
  readonly id: string;
  readonly kind: Kind;
  readonly name: string;
  readonly about: string | null;
  readonly type: string;
  readonly used: number;
  readonly limit: number;
  readonly resetsAt: string | null;
  readonly policyId: string | null;
}

const SHOWN = 60;
const OF_ONE_POLICY = 500;
const KINDS = [
  { value: 'all', label: 'All' },
  { value: 'API key', label: 'Keys' },
  { value: 'Virtual key', label: 'Providers' },
  { value: 'Workspace', label: 'Workspaces' },
  { value: 'Policy', label: 'Policies' },
] as const;
type Chosen = (typeof KINDS)[number]['value'];

const shareOf = ({ used, limit }: Bar) => (limit > 0 ? used / limit : 1);

const barsOf = (kind: Kind, { id, name }: { id: string; name: string }, usage: ApiKey['usage']): Bar[] =>
  usage.map((budget, index) => ({
    id: `${id} ${index}`,
    ...{ kind, name, about: null, policyId: null },
    ...{ type: budget.type, used: budget.current_usage, limit: budget.credit_limit, resetsAt: budget.resets_at },
  }));

/** Every budget of the workspace, the fullest first. The figures are those that limits are decided by. */
function useBars(policies: readonly UsageLimitsPolicy[] | undefined) {
  const { id: workspace_id } = useWorkspace();
  const may = useMay();
  const list = { query: { workspace_id, page_size: 1_000 } };
  const keys = useApi('/v1/api-keys', list, { enabled: may('api_keys.list') });
  const virtual = useApi('/v1/virtual-keys', list, { enabled: may('virtual_keys.list') });
  const workspaces = useApi('/v1/admin/workspaces', { query: { page_size: 500 } }, { enabled: may('workspaces.list') });
  const groups = useQueries({
    queries: (may('policies.read') ? (policies ?? []) : []).map(({ id }) =>
      query('/v1/policies/usage-limits/{id}/entities', { params: { id }, query: { page_size: OF_ONE_POLICY } }),
    ),
  });
  const entities = (policies ?? []).flatMap((policy, index) =>
    (groups[index]?.data?.data ?? []).map(
      (entity): Bar => ({
        id: entity.id,
        ...{ kind: 'Policy', name: entityName(entity.value_key), about: nameOfPolicy(policy), policyId: policy.id },
        ...{ type: policy.type, used: entity.current_usage, limit: policy.credit_limit, resetsAt: entity.resets_at },
      }),
    ),
  );
  const all = [
    ...(keys.data?.data ?? []).flatMap((each) => barsOf('API key', each, each.usage)),
    ...(virtual.data?.data ?? []).flatMap((each) => barsOf('Virtual key', each, each.usage)),
    ...(workspaces.data?.data ?? []).flatMap((each) => barsOf('Workspace', each, each.usage)),
    ...entities,
  ];
  const reads = [keys, virtual, workspaces, ...groups];
  return {
    bars: all.sort((one, other) => shareOf(other) - shareOf(one)),
    isLoading: policies === undefined || reads.some(({ isLoading }) => isLoading),
    error: reads.find(({ error }) => error)?.error ?? null,
    isCut: groups.some(({ data }) => data?.has_more) || keys.data?.has_more === true,
  };
}

export function NearLimit({
  policies,
  onPolicy,
}: {
  readonly policies: readonly UsageLimitsPolicy[] | undefined;
  readonly onPolicy: (id: string) => void;
}) {
  const [kind, setKind] = useState<Chosen>('all');
  const { bars, isLoading, error, isCut } = useBars(policies);
  if (error) return <ErrorNote error={error} />;
  if (isLoading) return <Skeleton lines={6} />;
  const shown = bars.filter((bar) => kind === 'all' || bar.kind === kind);
  const spent = bars.filter((bar) => shareOf(bar) >= 1).length;
  const near = bars.filter((bar) => shareOf(bar) >= 0.8 && shareOf(bar) < 1).length;
  if (bars.length === 0)
    return (
      <Card>
        <EmptyState icon="gauge" title="Nobody has a budget yet">
          Give a key, a provider, a workspace or every user of a policy a budget, and this page shows who is about to
          run out of it.
        </EmptyState>
      </Card>
    );
  return (
    <Stack gap={3}>
      <Row gap={3}>
        <Segmented label="Which budgets" value={kind} choices={KINDS} onChange={setKind} />
        {spent > 0 && (
          <Badge tone="bad" dot>
            {spent} spent
          </Badge>
        )}
        {near > 0 && (
          <Badge tone="warn" dot>
            {near} above 80 %
          </Badge>
        )}
        {spent + near === 0 && (
          <Badge tone="good" dot>
            all below 80 %
          </Badge>
        )}
      </Row>
      <Card isFlush>
        <ul className="limits-bars">
          {shown.slice(0, SHOWN).map((bar) => (
            <BarRow key={bar.id} bar={bar} onPolicy={onPolicy} />
          ))}
        </ul>
        {shown.length === 0 && <EmptyState icon="gauge" title="None of these has a budget" />}
      </Card>
      {(isCut || shown.length > SHOWN) && (
        <p className="soft small">
          The {Math.min(SHOWN, shown.length)} fullest of {shown.length}
          {isCut && `; of each policy the first ${OF_ONE_POLICY} groups are compared`}.
        </p>
      )}
    </Stack>
  );
}

function BarRow({ bar, onPolicy }: { readonly bar: Bar; readonly onPolicy: (id: string) => void }) {
  const share = shareOf(bar);
  const tone = share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : 'accent';
  const words = spentOf(bar.type, bar.used, bar.limit);
  return (
    <li>
      <span className="limits-name">
        <strong className="truncate">{bar.name}</strong>
        <span className="soft small truncate">
          {bar.policyId ? (
            <button type="button" className="limits-link" onClick={() => onPolicy(bar.policyId!)}>
              {bar.about}
            </button>
          ) : (
            bar.kind
          )}
        </span>
      </span>
      <span className="limits-bar">
        <Progress label={`${bar.name}: ${words}`} value={bar.used} most={bar.limit} tone={tone} />
        <span className="small numeric">
          {words}
          {bar.resetsAt && (
            <span className="soft">
              {' '}
              · anew <Ago at={bar.resetsAt} />
            </span>
          )}
        </span>
      </span>
      <span className={`limits-share numeric limits-${tone}`}>{Math.round(share * 100)} %</span>
    </li>
  );
}
