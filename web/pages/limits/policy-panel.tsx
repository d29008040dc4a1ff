import { api } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { UsageLimitsPolicy } from '../../api/types.d.ts';
import { Button, IconButton } from '../../design/button.tsx';
import { SidePanel } from '../../design/dialog.tsx';
import { formatTime } from '../../design/format.ts';
import { KeyValue, Row, Stack } from '../../design/layout.tsx';
import { ErrorNote, Progress, Skeleton } from '../../design/states.tsx';
import { useMay } from '../../shell/session.tsx';
import {
  amountOf,
  conditionText,
  entityName,
  isUsage,
  money,
  nameOfPolicy,
  type Policy,
  spentOf,
  whoOf,
} from './policy.ts';

export const PolicyPanel = ({
  policy,
  onClose,
  onEdit,
  onDelete,
}: {
  readonly policy: Policy;
  readonly onClose: () => void;
  /** Null: not allowed. */
  readonly onEdit: (() => void) | null;
  readonly onDelete: (() => void) | null;
}) => (
  <SidePanel title={nameOfPolicy(policy)} isOpen onClose={onClose}>
    <Stack gap={6}>
      <Row>
        {onEdit && (
          <Button icon="edit" onClick={onEdit}>
            Edit
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
          ['Each may', amountOf(policy)],
          ['Counted by', whoOf(policy)],
          ['When', policy.conditions.map(conditionText).join(', and ') || 'always'],
          ['Holds in', policy.workspace_id ? 'this workspace' : 'every workspace'],
          ...(isUsage(policy)
            ? ([
                ['Told at', policy.alert_threshold === null ? '–' : money(policy.type, policy.alert_threshold)],
                ...(policy.type === 'cost'
                  ? ([['Models without a price', policy.unpriced === 'allow' ? 'allowed' : 'refused']] as const)
                  : []),
              ] as const)
            : ([['Limits', policy.target === 'mcp_tools' ? 'calls of MCP tools' : 'calls of models']] as const)),
          ['Changed', formatTime(policy.last_updated_at)],
          ['Id', <code key="id">{policy.id}</code>],
        ]}
      />
      {isUsage(policy) && <Groups policy={policy} />}
    </Stack>
  </SidePanel>
);

/** What each group has spent. */
function Groups({ policy }: { readonly policy: UsageLimitsPolicy }) {
  const may = useMay();
  const path = '/v1/policies/usage-limits/{id}/entities';
  const list = useApi(path, { params: { id: policy.id }, query: { page_size: 100 } });
  const reset = useAction(
    (entity: string) =>
      api.put('/v1/policies/usage-limits/{id}/entities/{entity}/reset', { params: { id: policy.id, entity } }),
    { changes: [path], done: 'It begins anew.' },
  );
  const groups = [...(list.data?.data ?? [])].sort((one, other) => other.current_usage - one.current_usage);
  return (
    <Stack gap={2}>
      <h3>Who has spent what</h3>
      {list.error && <ErrorNote error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && <Skeleton />}
      {list.data && groups.length === 0 && <p className="soft">Nobody has called yet.</p>}
      {groups.map((group) => (
        <div key={group.id} className="limits-group">
          <div className="stack gap-1">
            <span className="line gap-2">
              <strong className="truncate">{entityName(group.value_key)}</strong>
              <span className="small numeric soft">
                {spentOf(policy.type, group.current_usage, policy.credit_limit)}
              </span>
            </span>
            <Progress
              label={entityName(group.value_key)}
              value={group.current_usage}
              most={policy.credit_limit}
              tone={
                group.status === 'exhausted'
                  ? 'bad'
                  : group.current_usage > policy.credit_limit * 0.8
                    ? 'warn'
                    : 'accent'
              }
            />
          </div>
          {may('policies.update') && (
            <IconButton
              size="small"
              icon="refresh"
              label={`Let ${entityName(group.value_key)} begin anew`}
              onClick={() => reset.mutate(group.id)}
            />
          )}
        </div>
      ))}
      {list.data?.has_more && <p className="soft small">The first 100 of {list.data.total}.</p>}
    </Stack>
  );
}
