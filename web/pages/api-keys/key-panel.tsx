import { useApi } from '../../api/hooks.ts';
import type { ApiKey } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { SidePanel } from '../../design/dialog.tsx';
import { formatMoney, formatNumber, formatTime } from '../../design/format.ts';
import { KeyValue, Row, Stack } from '../../design/layout.tsx';
import { Progress } from '../../design/states.tsx';
import { nameOf, useMay, useSession } from '../../shell/session.tsx';
import { TONES } from './api-keys.tsx';
import { defaultsIn } from './defaults-field.tsx';

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

/** The name of a user, where the viewer may know it. */
function Person({ id }: { readonly id: string }) {
  const { user: me } = useSession();
  const found = useApi('/v1/admin/users/{id}', { params: { id } }, { enabled: useMay()('users.read') && id !== me.id });
  if (id === me.id) return 'you';
  return found.data ? nameOf(found.data) : <code>{id}</code>;
}

/** What its calls use when they say nothing else. */
function Defaults({ of: key }: { readonly of: ApiKey }) {
  const { virtualKey, config, metadata, input, output } = defaultsIn(key);
  const said = [
    virtualKey && `the provider ${virtualKey}`,
    config && `the config ${config}`,
    metadata && `metadata ${metadata}`,
    input && `guardrails for requests: ${input}`,
    output && `guardrails for answers: ${output}`,
  ].filter(Boolean);
  return said.length > 0 ? said.join('; ') : 'nothing: calls say it themselves';
}

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
          ['Acts for', key.user_id ? <Person key="user" id={key.user_id} /> : 'the application'],
          ...(key.is_login ? [['Belongs to', 'a program that its user signed in; it renews itself'] as const] : []),
          ['Budget', <Usage key="usage" usage={key.usage} />],
          ['Rate limits', rates(key)],
          ['Uses by itself', <Defaults key="defaults" of={key} />],
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
