import type { ApiKey } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { SidePanel } from '../../design/dialog.tsx';
import { formatMoney, formatNumber, formatTime } from '../../design/format.ts';
import { KeyValue, Row, Stack } from '../../design/layout.tsx';
import { Progress } from '../../design/states.tsx';
import { TONES } from './api-keys.tsx';

type Budget = ApiKey['usage'][number];

const amount = (budget: Budget, value: number) =>
  budget.type === 'cost' ? formatMoney(value) : `${formatNumber(value)} ${budget.type}`;

const toneOf = ({ current_usage, credit_limit }: Budget) =>
  current_usage >= credit_limit ? 'bad' : current_usage >= credit_limit * 0.8 ? 'warn' : 'accent';

/** What is spent of each budget. */
export const Usage = ({ usage }: { readonly usage: ApiKey['usage'] }) =>
  usage.length === 0 ? (
    <span className="soft">no limit</span>
  ) : (
    <Stack gap={2}>
      {usage.map((budget) => (
        <div key={`${budget.type} ${budget.credit_limit}`} className="stack gap-1">
          <span className="small numeric">
            {amount(budget, budget.current_usage)}{' '}
            <span className="soft">of {amount(budget, budget.credit_limit)}</span>
          </span>
          <Progress
            label={`${amount(budget, budget.current_usage)} of ${amount(budget, budget.credit_limit)}`}
            value={budget.current_usage}
            most={budget.credit_limit}
            tone={toneOf(budget)}
          />
        </div>
      ))}
    </Stack>
  );

const rates = (key: ApiKey) =>
  key.rate_limits?.map(({ type, unit, value }) => `${formatNumber(value)} ${type} ${unit}`).join(', ') || 'none';

export const KeyPanel = ({
  apiKey: key,
  onClose,
  onEdit,
  onRotate,
  onDelete,
}: {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
  /** Null: not allowed. */
  readonly onEdit: (() => void) | null;
  readonly onRotate: (() => void) | null;
  readonly onDelete: (() => void) | null;
}) => (
  <SidePanel title={key.name} isOpen onClose={onClose}>
    <Stack gap={6}>
      <Row>
        {onEdit && (
          <Button icon="edit" onClick={onEdit}>
            Edit
          </Button>
        )}
        {onRotate && (
          <Button icon="refresh" onClick={onRotate}>
            New secret
          </Button>
        )}
        {onDelete && (
          <Button icon="trash" onClick={onDelete}>
            Delete
          </Button>
        )}
      </Row>
      <KeyValue
        rows={[
          [
            'State',
            <Badge key="state" tone={TONES[key.status]} dot>
              {key.status}
            </Badge>,
          ],
          ['Key', <code key="key">{key.masked_key}</code>],
          ['About', key.description ?? '–'],
          ['Acts for', key.user_id ? <code key="user">{key.user_id}</code> : 'the application'],
          ['Budget', <Usage key="usage" usage={key.usage} />],
          ['Rate limits', rates(key)],
          ['Models', key.models?.join(', ') ?? 'all'],
          ['Calls may not bring', key.forbidden?.join(', ') || 'anything is allowed'],
          ['Expires', key.expires_at ? formatTime(key.expires_at) : 'never'],
          ['Made', formatTime(key.created_at)],
          ['Id', <code key="id">{key.id}</code>],
        ]}
      />
      <Stack gap={2}>
        <h3>May</h3>
        <Row gap={1}>
          {key.scopes.map((scope) => (
            <Badge key={scope}>{scope}</Badge>
          ))}
        </Row>
      </Stack>
    </Stack>
  </SidePanel>
);
