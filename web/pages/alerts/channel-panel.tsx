import { api } from '../../api/client.ts';
import { useAction } from '../../api/hooks.ts';
import type { AlertChannel } from '../../api/types.d.ts';
import { Button } from '../../design/button.tsx';
import { SecretOnce } from '../../design/copy.tsx';
import { SidePanel } from '../../design/dialog.tsx';
import { Switch } from '../../design/field.tsx';
import { KeyValue, Row, Stack } from '../../design/layout.tsx';
import { Note } from '../../design/states.tsx';
import { addressOf, Delivered, KIND_LABELS } from './channels.tsx';

export function ChannelPanel({
  channel,
  onClose,
  onEdit,
  onDelete,
}: {
  readonly channel: AlertChannel;
  readonly onClose: () => void;
  /** Null: not allowed. */
  readonly onEdit: (() => void) | null;
  readonly onDelete: (() => void) | null;
}) {
  const params = { id: channel.id };
  const changes = ['/v1/alert-channels'];
  const test = useAction(() => api.post('/v1/alert-channels/{id}/test', { params }), { changes });
  const rotate = useAction(() => api.post('/v1/alert-channels/{id}/rotate', { params }), { changes });
  const turn = useAction(
    (is_enabled: boolean) => api.put('/v1/alert-channels/{id}', { params, body: { is_enabled } }),
    {
      changes,
    },
  );
  const { settings } = channel;
  return (
    <SidePanel title={channel.name} isOpen onClose={onClose}>
      <Stack gap={6}>
        {onEdit && (
          <Row>
            <Button look="primary" icon="send" isBusy={test.isPending} onClick={() => test.mutate()}>
              Send a test
            </Button>
            <Button icon="edit" onClick={onEdit}>
              Edit
            </Button>
            {channel.kind === 'webhook' && (
              <Button icon="refresh" isBusy={rotate.isPending} onClick={() => rotate.mutate()}>
                New secret
              </Button>
            )}
            {onDelete && (
              <Button icon="trash" onClick={onDelete}>
                Delete
              </Button>
            )}
          </Row>
        )}
        {test.data && (
          <Note tone={test.data.delivered ? 'good' : 'bad'}>
            {test.data.delivered
              ? 'The test has arrived.'
              : `It was not taken: ${test.data.error ?? `status ${test.data.response_status}`}`}
          </Note>
        )}
        {rotate.data?.secret && <SecretOnce secret={rotate.data.secret} name="the new secret" />}
        <KeyValue
          rows={[
            ['Kind', KIND_LABELS[channel.kind]],
            ['Goes to', addressOf(channel)],
            ...('host' in settings
              ? ([
                  ['Server', `${settings.host}:${settings.port}, ${settings.security}`],
                  ['From', settings.from],
                  ['Signs in as', settings.username ?? 'nobody'],
                ] as const)
              : []),
            ['Of', channel.workspace_id ? 'this workspace' : 'the whole organisation'],
            ['Last told', <Delivered key="last" delivery={channel.last_delivery} />],
            ...(channel.last_delivery?.error ? ([['Why not', channel.last_delivery.error]] as const) : []),
          ]}
        />
        {onEdit && (
          <Switch checked={channel.is_enabled} disabled={turn.isPending} onChange={(isOn) => turn.mutate(isOn)}>
            Is on
          </Switch>
        )}
      </Stack>
    </SidePanel>
  );
}
