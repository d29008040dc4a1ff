import { useEffect, useState } from 'react';
import { api } from '../../api/client.ts';
import { contentOf, download } from '../../api/files.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { FineTuningJob, FineTuningJobEvent } from '../../api/types.d.ts';
import { Badge, type Tone } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { ConfirmByName, SidePanel } from '../../design/dialog.tsx';
import { formatNumber, formatTime } from '../../design/format.ts';
import { KeyValue, Row, Stack } from '../../design/layout.tsx';
import { Note } from '../../design/states.tsx';
import { Ago } from '../../design/time.tsx';
import { usePaying } from '../../shell/paying.tsx';
import { useMay } from '../../shell/session.tsx';
import { isGoing, TONES } from './fine-tuning.tsx';
import { LossCurve, type LossPoint } from './loss-curve.tsx';

const LEVELS: Readonly<Record<FineTuningJobEvent['level'], Tone>> = { info: 'plain', warn: 'warn', error: 'bad' };
const LIVE_MS = 2_000;

export function JobPanel({ job, onClose }: { readonly job: FineTuningJob; readonly onClose: () => void }) {
  const may = useMay();
  const [isEnding, setEnding] = useState(false);
  const { headers } = usePaying();
  const params = { fine_tuning_job_id: job.id };
  const live = { refetchInterval: isGoing(job) ? LIVE_MS : (false as const) };
  const events = useApi(
    '/v1/fine_tuning/jobs/{fine_tuning_job_id}/events',
    { params, query: { limit: 100 }, headers },
    live,
  );
  const checkpoints = useApi(
    '/v1/fine_tuning/jobs/{fine_tuning_job_id}/checkpoints',
    { params, query: { limit: 100 }, headers },
    live,
  );
  const [again, more] = [events.refetch, checkpoints.refetch];
  const { status } = job;
  useEffect(() => {
    // What came with the last step is not missed when the job has ended between two looks.
    if (status === 'succeeded' || status === 'failed') void Promise.all([again(), more()]);
  }, [status, again, more]);
  const changes = ['/v1/fine_tuning/jobs'];
  const pause = useAction(() => api.post('/v1/fine_tuning/jobs/{fine_tuning_job_id}/pause', { params, headers }), {
    changes,
  });
  const resume = useAction(() => api.post('/v1/fine_tuning/jobs/{fine_tuning_job_id}/resume', { params, headers }), {
    changes,
  });
  const save = useAction((id: string) => download(contentOf(id), `${id}.csv`));
  const points = pointsOf(events.data?.data ?? [], checkpoints.data?.data ?? []);
  return (
    <SidePanel title={job.fine_tuned_model ?? job.model} isOpen onClose={onClose}>
      <Stack gap={6}>
        <Row>
          <Badge tone={TONES[job.status]} dot>
            {job.status.replace('_', ' ')}
          </Badge>
          {job.estimated_finish && isGoing(job) && (
            <span className="soft">
              done <Ago at={job.estimated_finish * 1_000} />
            </span>
          )}
        </Row>
        {may('fine_tuning.write') && isGoing(job) && (
          <Row>
            {job.status === 'running' && (
              <Button icon="clock" isBusy={pause.isPending} onClick={() => pause.mutate()}>
                Pause
              </Button>
            )}
            {job.status === 'queued' && (
              <Button icon="play" isBusy={resume.isPending} onClick={() => resume.mutate()}>
                Go on
              </Button>
            )}
            <Button icon="close" onClick={() => setEnding(true)}>
              Cancel
            </Button>
          </Row>
        )}
        {job.error && <Note tone="bad">{job.error.message}</Note>}
        {points.length > 1 && <LossCurve points={points} />}
        <KeyValue
          rows={[
            ['Model', job.model],
            ['Becomes', job.fine_tuned_model ? <code key="becomes">{job.fine_tuned_model}</code> : '–'],
            ['Method', job.method.type],
            ['Trained tokens', job.trained_tokens === null ? '–' : formatNumber(job.trained_tokens)],
            [
              'Settings',
              Object.entries(job.hyperparameters)
                .map(([name, value]) => `${name.replaceAll('_', ' ')} ${value}`)
                .join(', ') || '–',
            ],
            ['Made', formatTime(job.created_at * 1_000)],
            ['Ended', job.finished_at ? formatTime(job.finished_at * 1_000) : '–'],
            ['Id', <code key="id">{job.id}</code>],
          ]}
        />
        {may('files.read') && job.result_files.length > 0 && (
          <Row>
            {job.result_files.map((id, index) => (
              <Button key={id} icon="download" isBusy={save.isPending} onClick={() => save.mutate(id)}>
                Results{job.result_files.length > 1 && ` ${index + 1}`}
              </Button>
            ))}
          </Row>
        )}
        {checkpoints.data && checkpoints.data.data.length > 0 && (
          <Stack gap={2}>
            <h3>Checkpoints</h3>
            <KeyValue
              rows={checkpoints.data.data.map(({ step_number, fine_tuned_model_checkpoint }) => [
                `Step ${step_number}`,
                <code key={step_number}>{fine_tuned_model_checkpoint}</code>,
              ])}
            />
          </Stack>
        )}
        <Stack gap={2}>
          <h3>Events</h3>
          <ol className="tuning-events">
            {events.data?.data.map(({ id, level, message, created_at }) => (
              <li key={id}>
                <Badge tone={LEVELS[level]}>{level}</Badge>
                <span>{message}</span>
                <span className="soft small">
                  <Ago at={created_at * 1_000} />
                </span>
              </li>
            ))}
          </ol>
        </Stack>
      </Stack>
      {isEnding && <CancelJob job={job} onClose={() => setEnding(false)} />}
    </SidePanel>
  );
}

const number = (value: unknown): number | null => (typeof value === 'number' && Number.isFinite(value) ? value : null);

/** From events where the provider has them, else from checkpoints. */
function pointsOf(
  events: readonly FineTuningJobEvent[],
  checkpoints: readonly { step_number: number; metrics: Readonly<Record<string, number>> }[],
): LossPoint[] {
  const told = events
    .filter(({ type }) => type === 'metrics')
    .map(({ data }) => (data ?? {}) as Readonly<Record<string, unknown>>)
    .map((data) => ({ step: number(data.step), train: number(data.train_loss), valid: number(data.valid_loss) }));
  const kept = checkpoints.map(({ step_number, metrics }) => ({
    step: step_number,
    train: number(metrics.train_loss),
    valid: number(metrics.valid_loss ?? metrics.full_valid_loss),
  }));
  const found = told.length > 1 ? told : kept;
  return found
    .filter((point): point is LossPoint => point.step !== null && (point.train !== null || point.valid !== null))
    .sort((one, other) => one.step - other.step);
}

function CancelJob({ job, onClose }: { readonly job: FineTuningJob; readonly onClose: () => void }) {
  const { headers } = usePaying();
  const cancel = useAction(
    () =>
      api.post('/v1/fine_tuning/jobs/{fine_tuning_job_id}/cancel', { params: { fine_tuning_job_id: job.id }, headers }),
    { changes: ['/v1/fine_tuning/jobs'], done: 'The provider is told.', onDone: onClose, onFault: () => {} },
  );
  return (
    <ConfirmByName
      title="Cancel this job"
      name={job.model}
      action="Cancel the job"
      isOpen
      onClose={onClose}
      isBusy={cancel.isPending}
      fault={cancel.error}
      onConfirm={() => cancel.mutate()}
    >
      The training of {job.model} (<code>{job.id}</code>) ends without a model. What it has trained so far may be paid
      for; checkpoints that are there stay at the provider.
    </ConfirmByName>
  );
}
