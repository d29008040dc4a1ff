import type { AlertChannel } from '../../api/types.d.ts';
import { Badge, type Tone } from '../../design/badge.tsx';
import type { Column } from '../../design/table.tsx';
import { Ago } from '../../design/time.tsx';

export const KIND_LABELS: Readonly<Record<AlertChannel['kind'], string>> = {
  slack: 'Slack',
  teams: 'Teams',
  email: 'Mail',
  webhook: 'Webhook',
};

type Delivery = NonNullable<AlertChannel['last_delivery']>;
const TONES: Readonly<Record<Delivery['status'], Tone>> = { delivered: 'good', retrying: 'warn', failed: 'bad' };

export const addressOf = ({ settings }: AlertChannel): string =>
  'url' in settings ? settings.url : settings.to.join(', ');

export const Delivered = ({ delivery }: { readonly delivery: Delivery | null }) =>
  delivery === null ? (
    <span className="soft">nothing told yet</span>
  ) : (
    <span className="line gap-2">
      <Badge tone={TONES[delivery.status]} dot>
        {delivery.status}
      </Badge>
      <span className="soft">
        <Ago at={delivery.at} />
      </span>
    </span>
  );

export const channelColumns: readonly Column<AlertChannel>[] = [
  {
    id: 'name',
    header: 'Channel',
    sort: ({ name }) => name,
    cell: ({ name, is_enabled }) => (
      <span className="line gap-2">
        <strong>{name}</strong>
        {!is_enabled && <Badge>off</Badge>}
      </span>
    ),
  },
  { id: 'kind', header: 'Kind', width: '100px', sort: ({ kind }) => kind, cell: ({ kind }) => KIND_LABELS[kind] },
  {
    id: 'where',
    header: 'Goes to',
    hideBelow: 'small',
    cell: (channel) => <span className="soft">{addressOf(channel)}</span>,
  },
  {
    id: 'last',
    header: 'Last told',
    hideBelow: 'medium',
    width: '190px',
    cell: ({ last_delivery }) => <Delivered delivery={last_delivery} />,
  },
];
