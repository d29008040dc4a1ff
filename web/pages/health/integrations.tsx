import { Link } from '@tanstack/react-router';
import { useApi } from '../../api/hooks.ts';
import type { AlertChannel, Webhook } from '../../api/types.d.ts';
import { Badge, type Tone } from '../../design/badge.tsx';
import { formatAgo, formatNumber } from '../../design/format.ts';
import { Icon, type IconName } from '../../design/icon.tsx';
import { Card } from '../../design/layout.tsx';
import { EmptyState, ErrorNote, Skeleton } from '../../design/states.tsx';
import { useMay } from '../../shell/session.tsx';
import type { useMetrics } from './metrics.ts';

type Delivery = NonNullable<Webhook['last_delivery']>;

/** How something outside took what it was last told. */
interface Told {
  readonly key: string;
  readonly icon: IconName;
  readonly title: string;
  readonly words: string;
  readonly state: string;
  readonly tone: Tone;
  readonly to?: '/alerts' | '/webhooks';
}

const MOST = 200;

const STATES: Readonly<Record<Delivery['status'], readonly [string, Tone]>> = {
  delivered: ['well', 'good'],
  retrying: ['tried again', 'warn'],
  failed: ['failed', 'bad'],
};

function wordsOf(delivery: Delivery | null, isEnabled: boolean): Pick<Told, 'words' | 'state' | 'tone'> {
  if (!isEnabled) return { words: 'Switched off: it is told nothing.', state: 'off', tone: 'plain' };
  if (!delivery) return { words: 'There was nothing to tell yet.', state: 'not yet', tone: 'plain' };
  const [state, tone] = STATES[delivery.status];
  const why =
    delivery.error ?? (delivery.response_status === null ? 'no answer' : `answered ${delivery.response_status}`);
  const tries = `${delivery.attempts} ${delivery.attempts === 1 ? 'try' : 'tries'}`;
  const ago = formatAgo(delivery.at);
  if (delivery.status === 'delivered') return { words: `Took what it was told ${ago}.`, state, tone };
  return delivery.status === 'retrying'
    ? { words: `Did not take it ${ago}, after ${tries}: ${why}. It is told again.`, state, tone }
    : { words: `Given up ${ago}, after ${tries}: ${why}. What it was to be told is lost.`, state, tone };
}

const ofChannel = ({ id, name, kind, is_enabled, last_delivery }: AlertChannel): Told => ({
  ...{ key: id, icon: 'bell', title: `${name} (${kind})`, to: '/alerts' },
  ...wordsOf(last_delivery, is_enabled),
});
const ofWebhook = ({ id, name, is_enabled, last_delivery }: Webhook): Told => ({
  ...{ key: id, icon: 'send', title: `${name} (webhook of jobs)`, to: '/webhooks' },
  ...wordsOf(last_delivery, is_enabled),
});

const since = 'since this node started';

/** What this node counts of places that it sends to; those that are not set up have no figures. */
function counted(sum: ReturnType<typeof useMetrics>['sum']): Told[] {
  const backup = sum('gateway_backup_newest_timestamp_seconds');
  const exported = sum('gateway_log_exported_total');
  const sent = sum('gateway_otel_sent_total');
  const lost = (sum('gateway_otel_refused_total') ?? 0) + (sum('gateway_otel_dropped_total') ?? 0);
  const told: Told[] = [];
  const known = { state: 'known', tone: 'plain' } as const;
  if (backup) {
    const words = `The newest whole one was begun ${formatAgo(backup * 1_000)}.`;
    told.push({ key: 'backup', icon: 'copy', title: 'Backups', words, ...known });
  }
  if (exported) {
    const words = `${formatNumber(exported)} entries were taken ${since}.`;
    told.push({ key: 'export', icon: 'download', title: 'Export of the log', words, ...known });
  }
  if (sent || lost) {
    const words = `${formatNumber(sent ?? 0)} were taken ${since}, ${formatNumber(lost)} were refused or dropped.`;
    const state =
      lost > 0 ? ({ state: 'some lost', tone: 'warn' } as const) : ({ state: 'well', tone: 'good' } as const);
    told.push({ key: 'otel', icon: 'tree', title: 'Traces and metrics', words, ...state });
  }
  return told;
}

const ORDER: readonly Tone[] = ['bad', 'warn'];
const urgency = ({ tone }: Told): number => (ORDER.includes(tone) ? ORDER.indexOf(tone) : ORDER.length);

/** Places outside that the gateway tells things to, each with how it last went; what fails comes first. */
export function Integrations({
  everyMs,
  metrics,
}: {
  readonly everyMs: number;
  readonly metrics: ReturnType<typeof useMetrics>;
}) {
  const may = useMay();
  const query = { page_size: MOST };
  const live = (isAllowed: boolean) => ({ enabled: isAllowed, refetchInterval: everyMs });
  const channels = useApi('/v1/alert-channels', { query }, live(may('alert_channels.list')));
  const webhooks = useApi('/v1/webhooks', { query }, live(may('webhooks.list')));
  const error = channels.error ?? webhooks.error;
  const told = [
    ...(channels.data?.data.map(ofChannel) ?? []),
    ...(webhooks.data?.data.map(ofWebhook) ?? []),
    ...counted(metrics.sum),
  ].sort((one, other) => urgency(one) - urgency(other));
  const isWaiting = channels.isLoading || webhooks.isLoading;
  const isCut = channels.data?.has_more || webhooks.data?.has_more;
  return (
    <Card title="Integrations" about="Places outside that are told things, and how each took the last of them.">
      {error && <ErrorNote error={error} onRetry={() => void Promise.all([channels.refetch(), webhooks.refetch()])} />}
      {isWaiting && <Skeleton lines={2} />}
      {!isWaiting && !error && told.length === 0 && (
        <EmptyState icon="send" title="Nothing outside is told anything">
          Make a channel on the page Alerts, or a webhook for the end of batches and jobs; how they took what they were
          told then shows here.
        </EmptyState>
      )}
      <ul className="health-parts">
        {told.map(({ key, icon, title, words, state, tone, to }) => (
          <li key={key}>
            <Icon name={icon} />
            <strong>{to ? <Link to={to as never}>{title}</Link> : title}</strong>
            <span className={tone === 'bad' || tone === 'warn' ? '' : 'soft'}>{words}</span>
            <Badge tone={tone} dot>
              {state}
            </Badge>
          </li>
        ))}
      </ul>
      {isCut && <p className="soft small">The first {MOST} of each are shown.</p>}
    </Card>
  );
}
