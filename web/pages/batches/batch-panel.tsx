import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { beginningOf, contentOf, download } from '../../api/files.ts';
import { useAction } from '../../api/hooks.ts';
import type { Batch } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { ConfirmByName, SidePanel } from '../../design/dialog.tsx';
import { formatDuration, formatNumber, formatTime } from '../../design/format.ts';
import { KeyValue, Row, Stack } from '../../design/layout.tsx';
import { ErrorNote, Note, Progress, Skeleton } from '../../design/states.tsx';
import { usePaying } from '../../shell/paying.tsx';
import { useMay } from '../../shell/session.tsx';
import { isGoing, nameOfBatch, paceOf, TONES } from './batches.tsx';

const FIRST_BYTES = 65_536;
const LINES_SHOWN = 20;

export function BatchPanel({ batch, onClose }: { readonly batch: Batch; readonly onClose: () => void }) {
  const may = useMay();
  const [isEnding, setEnding] = useState(false);
  const { completed, failed, total } = batch.request_counts;
  const pace = paceOf(batch);
  const { headers } = usePaying();
  const save = useAction(({ address, name }: { address: string; name: string }) => download(address, name, headers));
  const mayRead = may('batches.read');
  return (
    <SidePanel title={nameOfBatch(batch)} isOpen onClose={onClose}>
      <Stack gap={6}>
        <Stack gap={2}>
          <Row>
            <Badge tone={TONES[batch.status]} dot>
              {batch.status.replace('_', ' ')}
            </Badge>
            <strong className="numeric">
              {formatNumber(completed + failed)} of {formatNumber(total)}
            </strong>
            {pace && (
              <span className="soft numeric">
                {pace.rate.toFixed(pace.rate < 10 ? 1 : 0)} a second
                {pace.secondsLeft >= 1 && `, about ${formatDuration(pace.secondsLeft * 1_000)} left`}
              </span>
            )}
          </Row>
          <Progress
            label="Progress"
            value={batch.status === 'validating' ? undefined : completed + failed}
            most={total}
            tone={batch.status === 'completed' ? 'good' : batch.status === 'failed' ? 'bad' : 'accent'}
          />
        </Stack>
        <Row>
          {mayRead && batch.output_file_id && (
            <Button
              icon="download"
              look="primary"
              isBusy={save.isPending}
              onClick={() =>
                save.mutate({
                  address: `/v1/batches/${encodeURIComponent(batch.id)}/output`,
                  name: `${batch.id}-output.jsonl`,
                })
              }
            >
              Answers
            </Button>
          )}
          {may('files.read') && batch.error_file_id && (
            <Button
              icon="download"
              isBusy={save.isPending}
              onClick={() =>
                save.mutate({ address: contentOf(batch.error_file_id!), name: `${batch.id}-errors.jsonl` })
              }
            >
              Errors
            </Button>
          )}
          {may('batches.write') && isGoing(batch) && batch.status !== 'cancelling' && (
            <Button icon="close" onClick={() => setEnding(true)}>
              Cancel
            </Button>
          )}
        </Row>
        {batch.errors?.data.map(({ line, message, code }) => (
          <Note key={`${line} ${code} ${message}`} tone="bad">
            {line !== null && <strong>Line {line}: </strong>}
            {message}
          </Note>
        ))}
        <KeyValue
          rows={[
            ['Endpoint', <code key="endpoint">{batch.endpoint}</code>],
            ['Model', batch.model ?? 'several'],
            ['Failed', formatNumber(failed)],
            ['Tokens', `${formatNumber(batch.usage.input_tokens)} in, ${formatNumber(batch.usage.output_tokens)} out`],
            ['Made', formatTime(batch.created_at * 1_000)],
            ['Begun', batch.in_progress_at ? formatTime(batch.in_progress_at * 1_000) : '–'],
            ['Ended', endOf(batch)],
            ['Input', <code key="input">{batch.input_file_id}</code>],
            ['Id', <code key="id">{batch.id}</code>],
          ]}
        />
        {batch.error_file_id && may('files.read') && <ErrorLines id={batch.error_file_id} />}
      </Stack>
      {isEnding && <CancelBatch batch={batch} onClose={() => setEnding(false)} />}
    </SidePanel>
  );
}

function endOf({ completed_at, failed_at, expired_at, cancelled_at, expires_at }: Batch): string {
  const end = completed_at ?? failed_at ?? expired_at ?? cancelled_at;
  return end ? formatTime(end * 1_000) : expires_at ? `at the latest ${formatTime(expires_at * 1_000)}` : '–';
}

interface ErrorLine {
  readonly custom_id?: string;
  readonly error?: { readonly code?: string; readonly message?: string } | null;
  readonly response?: {
    readonly status_code?: number;
    readonly body?: { readonly error?: { readonly message?: string } };
  } | null;
}

function parsed(text: string): ErrorLine[] {
  return text
    .split('\n')
    .slice(0, LINES_SHOWN + 1)
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as ErrorLine];
      } catch {
        // The last one may be cut.
        return [];
      }
    })
    .slice(0, LINES_SHOWN);
}

/** The first lines of the error file: which request, and what was said against it. */
function ErrorLines({ id }: { readonly id: string }) {
  const lines = useQuery({
    queryKey: ['/v1/files/{file_id}/content', id],
    queryFn: async ({ signal }) => parsed(await beginningOf(id, FIRST_BYTES, signal)),
  });
  return (
    <Stack gap={2}>
      <h3>Requests that failed</h3>
      {lines.error && <ErrorNote error={lines.error} onRetry={() => void lines.refetch()} />}
      {lines.isPending && <Skeleton lines={2} />}
      <ul className="batches-errors">
        {lines.data?.map(({ custom_id, error, response }) => (
          <li key={custom_id}>
            <code>{custom_id}</code>
            <span>
              {error?.message ?? response?.body?.error?.message ?? error?.code ?? `status ${response?.status_code}`}
            </span>
          </li>
        ))}
      </ul>
      {lines.data?.length === LINES_SHOWN && <p className="soft small">The first {LINES_SHOWN}; the file has all.</p>}
    </Stack>
  );
}

function CancelBatch({ batch, onClose }: { readonly batch: Batch; readonly onClose: () => void }) {
  const { completed, failed, total } = batch.request_counts;
  const { headers } = usePaying();
  const cancel = useAction(
    () => api.post('/v1/batches/{batch_id}/cancel', { params: { batch_id: batch.id }, headers }),
    {
      changes: ['/v1/batches'],
      done: 'The batch ends; answers that are there are kept.',
      onDone: onClose,
      onFault: () => {},
    },
  );
  return (
    <ConfirmByName
      title="Cancel this batch"
      name={nameOfBatch(batch)}
      action="Cancel the batch"
      isOpen
      onClose={onClose}
      isBusy={cancel.isPending}
      fault={cancel.error}
      onConfirm={() => cancel.mutate()}
    >
      The {formatNumber(Math.max(0, total - completed - failed))} requests that are left are not made, and the batch
      cannot go on. The {formatNumber(completed)} answers that are there stay, and are paid for.
    </ConfirmByName>
  );
}
