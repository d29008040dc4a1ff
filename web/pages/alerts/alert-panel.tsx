import { api } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { Alert, AlertChannel, AlertEvent } from '../../api/types.d.ts';
import { Badge, type Tone } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { SidePanel } from '../../design/dialog.tsx';
import { Switch } from '../../design/field.tsx';
import { formatDuration } from '../../design/format.ts';
import { KeyValue, Row, Stack } from '../../design/layout.tsx';
import { ErrorNote, Note, Skeleton } from '../../design/states.tsx';
import { Ago } from '../../design/time.tsx';
import { useMay } from '../../shell/session.tsx';
import { TONES } from './alerts.tsx';
import { words } from './condition.ts';

const EVENTS: Readonly<Record<AlertEvent['type'], readonly [string, Tone]>> = {
  'alert.fired': ['began', 'bad'],
  'alert.repeated': ['goes on', 'warn'],
  'alert.over': ['over', 'good'],
  'alert.test': ['test', 'info'],
};

export function AlertPanel({
  alert,
  channels,
  onClose,
  onEdit,
  onDelete,
}: {
  readonly alert: Alert;
  readonly channels: readonly AlertChannel[];
  readonly onClose: () => void;
  /** Null: not allowed. */
  readonly onEdit: (() => void) | null;
  readonly onDelete: (() => void) | null;
}) {
  const params = { id: alert.id };
  const turn = useAction((is_enabled: boolean) => api.put('/v1/alerts/{id}', { params, body: { is_enabled } }), {
    changes: ['/v1/alerts'],
  });
  const test = useAction(() => api.post('/v1/alerts/{id}/test', { params }), { changes: ['/v1/alerts'] });
  const nameOf = (id: string) => channels.find((each) => each.id === id)?.name ?? id;
  return (
    <SidePanel title={alert.name} isOpen onClose={onClose}>
      <Stack gap={6}>
        {onEdit && (
          <Row>
            <Button icon="send" isBusy={test.isPending} onClick={() => test.mutate()}>
              Send a test
            </Button>
            <Button icon="edit" onClick={onEdit}>
              Edit
            </Button>
            {onDelete && (
              <Button icon="trash" onClick={onDelete}>
                Delete
              </Button>
            )}
          </Row>
        )}
        {test.data?.data.map(({ id, channel, delivered, error }) => (
          <Note key={id} tone={delivered ? 'good' : 'bad'}>
            {channel.name}: {delivered ? 'the test has arrived.' : (error ?? 'it was not taken.')}
          </Note>
        ))}
        {alert.problem && <Note tone="warn">{alert.problem}</Note>}
        {alert.firing.length > 0 && (
          <Stack gap={2}>
            <h3>Holds now</h3>
            {alert.firing.map(({ subject, summary, since }) => (
              <Note key={subject} tone="bad">
                {summary}
                <div className="small">
                  since <Ago at={since} />
                </div>
              </Note>
            ))}
          </Stack>
        )}
        <KeyValue
          rows={[
            [
              'State',
              <Badge key="state" tone={TONES[alert.status]} dot>
                {alert.status}
              </Badge>,
            ],
            ['Told when', words(alert.condition)],
            ['Tells', alert.channels.map(nameOf).join(', ') || 'nobody: only this page shows it'],
            ['Again after', alert.repeat_after ? formatDuration(alert.repeat_after * 1_000) : 'never'],
            ['Watches', alert.workspace_id ? 'this workspace' : 'every workspace'],
            ['Looked at', alert.checked_at ? <Ago key="at" at={alert.checked_at} /> : 'not yet'],
          ]}
        />
        {onEdit && (
          <Switch checked={alert.is_enabled} disabled={turn.isPending} onChange={(isOn) => turn.mutate(isOn)}>
            Is on
          </Switch>
        )}
        <History id={alert.id} />
      </Stack>
    </SidePanel>
  );
}

function History({ id }: { readonly id: string }) {
  const may = useMay();
  const events = useApi(
    '/v1/alerts/{id}/events',
    { params: { id }, query: { page_size: 50 } },
    { enabled: may('alerts.read'), refetchInterval: 15_000 },
  );
  return (
    <Stack gap={2}>
      <h3>History</h3>
      {events.error && <ErrorNote error={events.error} onRetry={() => void events.refetch()} />}
      {events.isPending && <Skeleton lines={2} />}
      {events.data?.data.length === 0 && <p className="soft">It has told nothing in the last 90 days.</p>}
      <ol className="alerts-history">
        {events.data?.data.map((event) => (
          <li key={event.id}>
            <Badge tone={EVENTS[event.type][1]}>{EVENTS[event.type][0]}</Badge>
            <span>
              {event.summary}
              {event.reason && <span className="soft"> {event.reason}</span>}
            </span>
            <span className="soft small">
              <Ago at={event.at} />
            </span>
          </li>
        ))}
      </ol>
      {events.data?.has_more && <p className="soft small">The latest 50 of {events.data.total}.</p>}
    </Stack>
  );
}
