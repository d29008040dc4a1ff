import { api } from '../../api/client.ts';
import { useAction } from '../../api/hooks.ts';
import type { Webhook } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { SecretOnce } from '../../design/copy.tsx';
import { SidePanel } from '../../design/dialog.tsx';
import { Switch } from '../../design/field.tsx';
import { formatTime } from '../../design/format.ts';
import { KeyValue, Row, Stack } from '../../design/layout.tsx';
import { Delivered } from '../alerts/channels.tsx';

export function WebhookPanel({
  webhook,
  onClose,
  onEdit,
  onDelete,
}: {
  readonly webhook: Webhook;
  readonly onClose: () => void;
  /** Null: not allowed. */
  readonly onEdit: (() => void) | null;
  readonly onDelete: (() => void) | null;
}) {
  const params = { id: webhook.id };
  const changes = ['/v1/webhooks'];
  const rotate = useAction(() => api.post('/v1/webhooks/{id}/rotate', { params }), { changes });
  const turn = useAction((is_enabled: boolean) => api.put('/v1/webhooks/{id}', { params, body: { is_enabled } }), {
    changes,
  });
  return (
    <SidePanel title={webhook.name} isOpen onClose={onClose}>
      <Stack gap={6}>
        <Row>
          {onEdit && (
            <>
              <Button icon="edit" onClick={onEdit}>
                Edit
              </Button>
              <Button icon="refresh" isBusy={rotate.isPending} onClick={() => rotate.mutate()}>
                New secret
              </Button>
            </>
          )}
          {onDelete && (
            <Button icon="trash" onClick={onDelete}>
              Delete
            </Button>
          )}
        </Row>
        {rotate.data && (
          <Stack gap={2}>
            <SecretOnce secret={rotate.data.secret} name="the new secret" />
            <p className="soft small">The old one signs along for a day.</p>
          </Stack>
        )}
        <KeyValue
          rows={[
            ['Goes to', webhook.url],
            ['Last told', <Delivered key="last" delivery={webhook.last_delivery} />],
            ...(webhook.last_delivery?.error ? ([['Why not', webhook.last_delivery.error]] as const) : []),
            ['Made', formatTime(webhook.created_at)],
            ['Id', <code key="id">{webhook.id}</code>],
          ]}
        />
        <Stack gap={2}>
          <h3>Told of</h3>
          <Row gap={1}>
            {webhook.events.map((event) => (
              <Badge key={event}>{event}</Badge>
            ))}
          </Row>
        </Stack>
        {onEdit && (
          <Switch checked={webhook.is_enabled} disabled={turn.isPending} onChange={(isOn) => turn.mutate(isOn)}>
            Is on
          </Switch>
        )}
      </Stack>
    </SidePanel>
  );
}
