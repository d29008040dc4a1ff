import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { ResponseOf } from '../../api/client.ts';
import { useApi } from '../../api/hooks.ts';
import { Badge } from '../../design/badge.tsx';
import { formatNumber, formatTime } from '../../design/format.ts';
import { Card } from '../../design/layout.tsx';
import { Stat } from '../../design/sparkline.tsx';
import { ErrorNote } from '../../design/states.tsx';
import { type Column, Table } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';
import { PAGES } from '../../pages.ts';
import { useMay, useWorkspace } from '../../shell/session.tsx';

const DAYS = 7;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** A call is in the log within a second or so after it ended: those who try something out see it come. */
const AGAIN_MS = 5_000;

/** The last days, as far as a question about them stays the same for a minute. */
function lastDays() {
  const until = Math.ceil(Date.now() / MINUTE_MS) * MINUTE_MS;
  return { from: new Date(until - DAYS * DAY_MS).toISOString(), until: new Date(until).toISOString() };
}

const percent = (share: number): string =>
  share === 0 ? '0 %' : share < 0.001 ? 'below 0.1 %' : `${Math.round(share * 1_000) / 10} %`;

/** What guardrails of the workspace came to, from the figures. */
export function Verdicts() {
  const { slug } = useWorkspace();
  const { from, until } = useMemo(lastDays, []);
  const groups = useApi(
    '/v1/analytics/groups/verdicts',
    { query: { time_of_generation_min: from, time_of_generation_max: until, workspace_slug: slug } },
    { refetchInterval: AGAIN_MS },
  );
  if (groups.error) return <ErrorNote error={groups.error} />;
  const count = (verdict: string) => groups.data?.data.find((each) => each.verdict === verdict)?.requests ?? 0;
  const [passed, failed, denied] = [count('passed'), count('failed'), count('denied')];
  const judged = passed + failed + denied;
  const say = (value: number) => (groups.data ? formatNumber(value) : '–');
  return (
    <div className="guardrails-stats">
      <Stat label="Judged calls" value={say(judged)} about={`the last ${DAYS} days`} />
      <Stat label="Passed" value={say(passed)} about={judged ? percent(passed / judged) : 'of what was judged'} />
      <Stat label="Marked" value={say(failed)} about="failed, and given on (246)" />
      <Stat label="Denied" value={say(denied)} about="refused (446)" />
      <Stat label="Hit rate" value={judged ? percent((failed + denied) / judged) : '–'} about="of what was judged" />
    </div>
  );
}

/** How often each guardrail of the workspace looked and objected; null: the user may not see figures. */
export function useGuardrailFigures() {
  const { slug } = useWorkspace();
  const { from, until } = useMemo(lastDays, []);
  const isShown = useMay()('analytics.view');
  const found = useApi(
    '/v1/analytics/groups/guardrails',
    { query: { time_of_generation_min: from, time_of_generation_max: until, workspace_slug: slug } },
    { enabled: isShown, refetchInterval: AGAIN_MS },
  );
  return { isShown, found };
}

/** What one guardrail came to. */
export function GuardrailFigures({ guardrail }: { readonly guardrail: string }) {
  const { isShown, found } = useGuardrailFigures();
  if (!isShown) return null;
  if (found.error) return <ErrorNote error={found.error} onRetry={() => void found.refetch()} />;
  const own = found.data?.data.find((each) => each.guardrail === guardrail);
  const say = (value = 0) => (found.data ? formatNumber(value) : '–');
  const since = found.data?.counted_from;
  return (
    <div className="stack gap-2">
      <div className="guardrails-stats">
        <Stat label="Judged calls" value={say(own?.requests)} about={`the last ${DAYS} days`} />
        <Stat label="Passed" value={say(own?.passed)} about="gone on without a word" />
        <Stat label="Marked" value={say(own?.failed)} about="objected to, and given on" />
        <Stat label="Denied" value={say(own?.denied)} about="refused (446)" />
        <Stat label="Hit rate" value={own ? hitRate(own) : '–'} about="of what was judged" />
      </div>
      {since && (
        <p className="soft small">
          Counted since {formatTime(since)}. Earlier calls are counted when an owner counts all figures anew.
        </p>
      )}
    </div>
  );
}

export const hitRate = ({ requests, failed, denied }: { requests: number; failed: number; denied: number }): string =>
  percent((failed + denied) / requests);

type Entry = ResponseOf<'/v1/logs'>['data'][number];
interface Hook {
  readonly id?: string;
  readonly verdict?: boolean | null;
  readonly deny?: boolean;
  readonly async?: boolean;
  readonly checks?: readonly { readonly id?: string; readonly verdict?: boolean }[];
}

const hooksOf = ({ hook_results }: Entry): Hook[] =>
  [...(hook_results?.before_request_hooks ?? []), ...(hook_results?.after_request_hooks ?? [])] as Hook[];
const failedIn = (entry: Entry): Hook[] => hooksOf(entry).filter(({ verdict }) => verdict === false);

const hasLogs = PAGES.some(({ path }) => path === '/logs');

/** The last calls that a guardrail objected to; null: any guardrail. */
export function LatestHits({ guardrail }: { readonly guardrail: string | null }) {
  const workspace_id = useWorkspace().id;
  const again = { refetchInterval: AGAIN_MS };
  const query = { workspace_id, ...(guardrail !== null && { guardrail }) };
  const hits = useApi('/v1/guardrail-hits', { query }, again);
  return (
    <Card
      title="Latest hits"
      about={`The last calls that ${guardrail === null ? 'any guardrail' : 'it'} objected to, also those that are only observed.`}
      isFlush
      actions={
        hasLogs && (
          <Link to={'/logs' as never} search={{ filter: 'status:446' } as never}>
            All in Logs
          </Link>
        )
      }
    >
      <Table
        label="Latest hits"
        rows={hits.data?.data}
        columns={COLUMNS}
        rowKey={({ id }) => id}
        error={hits.error}
        onRetry={() => void hits.refetch()}
        empty={
          <p className="guardrails-none soft">
            No call was objected to yet. Try a text on the bench to see what would be.
          </p>
        }
      />
    </Card>
  );
}

const COLUMNS: readonly Column<Entry>[] = [
  {
    id: 'when',
    header: 'When',
    width: '110px',
    cell: ({ created_at }) => <Ago at={created_at < 1e11 ? created_at * 1_000 : created_at} />,
  },
  {
    id: 'verdict',
    header: 'Verdict',
    width: '100px',
    cell: (entry) => {
      const failed = failedIn(entry);
      if (failed.some(({ deny, async: isAside }) => deny && !isAside)) return <Badge tone="bad">denied</Badge>;
      const isOnlySeen = failed.every(({ async: isAside }) => isAside);
      return isOnlySeen ? <Badge>observed</Badge> : <Badge tone="warn">marked</Badge>;
    },
  },
  {
    id: 'by',
    header: 'By',
    cell: (entry) => (
      <span className="truncate">
        {failedIn(entry)
          .map(({ id, checks = [] }) => {
            const failed = checks.filter(({ verdict }) => verdict === false).map((each) => each.id);
            return `${id}: ${failed.join(', ')}`;
          })
          .join('; ') || '–'}
      </span>
    ),
  },
  { id: 'model', header: 'Model', width: '180px', hideBelow: 'small', cell: ({ model }) => model ?? '–' },
  {
    id: 'entry',
    header: 'Entry',
    width: '90px',
    align: 'end',
    cell: ({ id }) =>
      hasLogs ? (
        <Link to={'/logs' as never} search={{ open: id } as never}>
          Open
        </Link>
      ) : (
        <code>{id.slice(0, 8)}</code>
      ),
  },
];
