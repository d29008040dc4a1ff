import type { AuditRecord } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { CodeBlock } from '../../design/copy.tsx';
import { SidePanel } from '../../design/dialog.tsx';
import { formatTime } from '../../design/format.ts';
import { KeyValue, Stack } from '../../design/layout.tsx';
import { toneOf } from './audit.tsx';

/** As it is stored, laid out when it is JSON. */
function laidOut(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

const isEmpty = (text: string) => text === '' || text === '{}' || text === 'null';

export const RecordPanel = ({
  record,
  who,
  onClose,
  onSameActor,
}: {
  readonly record: AuditRecord;
  readonly who: string;
  readonly onClose: () => void;
  readonly onSameActor: () => void;
}) => (
  <SidePanel
    title={`${record.action.replaceAll('_', ' ')} ${record.resource_type.replaceAll('_', ' ')}`}
    isOpen
    onClose={onClose}
  >
    <Stack gap={6}>
      <KeyValue
        rows={[
          ['When', formatTime(record.timestamp)],
          [
            'Who',
            <span key="who" className="line gap-2">
              <strong>{who}</strong>
              <Button size="small" icon="filter" onClick={onSameActor}>
                Only theirs
              </Button>
            </span>,
          ],
          ['Id', <code key="id">{record.user_id}</code>],
          ['Request', <code key="uri">{`${record.method} ${record.uri}`}</code>],
          [
            'Outcome',
            <Badge key="status" tone={toneOf(record.response_status_code)} dot>
              {record.response_status_code}
            </Badge>,
          ],
          ['From', `${record.client_ip}${record.country ? `, ${record.country}` : ''}`],
          ['Workspace', record.workspace_id || 'the organisation'],
          ['Record', <code key="record">{record.request_id}</code>],
        ]}
      />
      {!isEmpty(record.request_body) && <CodeBlock title="Body, secrets masked" code={laidOut(record.request_body)} />}
      {!isEmpty(record.query_params) && <CodeBlock title="Query" code={laidOut(record.query_params)} />}
      {!isEmpty(record.request_headers) && <CodeBlock title="Headers" code={laidOut(record.request_headers)} />}
    </Stack>
  </SidePanel>
);
