import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { Run, RunStep } from '../../api/types.d.ts';
import { Badge, type Tone } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { Field, Textarea } from '../../design/field.tsx';
import { formatDuration, formatNumber } from '../../design/format.ts';
import { Icon } from '../../design/icon.tsx';
import { Stack } from '../../design/layout.tsx';
import { Note } from '../../design/states.tsx';
import { Ago } from '../../design/time.tsx';
import { usePaying } from '../../shell/paying.tsx';
import { useMay } from '../../shell/session.tsx';
import { isActive } from './conversation.tsx';

const TONES: Readonly<Record<Run['status'], Tone>> = {
  ...{ queued: 'info', in_progress: 'accent', requires_action: 'warn', cancelling: 'warn' },
  ...{ completed: 'good', incomplete: 'warn', failed: 'bad', cancelled: 'plain', expired: 'warn' },
} as const;

/** Steps have their times in whole seconds. */
const seconds = (from: number, to: number | null) =>
  to !== null && to <= from ? 'under 1 s' : formatDuration(Math.max(0, (to ?? Date.now() / 1_000) - from) * 1_000);

/** Runs, the newest first, each with its steps in the order in which they happened. */
export const Timeline = ({ threadId, runs }: { readonly threadId: string; readonly runs: readonly Run[] }) =>
  runs.length === 0 ? (
    <p className="soft">None yet.</p>
  ) : (
    <ol className="assistants-runs">
      {runs.map((run) => (
        <RunItem key={run.id} threadId={threadId} run={run} />
      ))}
    </ol>
  );

function RunItem({ threadId, run }: { readonly threadId: string; readonly run: Run }) {
  const may = useMay();
  const { headers } = usePaying();
  const params = { thread_id: threadId, run_id: run.id };
  const steps = useApi(
    '/v1/threads/{thread_id}/runs/{run_id}/steps',
    { params, query: { limit: 100, order: 'asc' }, headers },
    { refetchInterval: isActive(run) ? 1_500 : false },
  );
  const cancel = useAction(() => api.post('/v1/threads/{thread_id}/runs/{run_id}/cancel', { params, headers }), {
    changes: ['/v1/threads/{thread_id}/'],
  });
  return (
    <li>
      <div className="line gap-2">
        <Badge tone={TONES[run.status]} dot>
          {run.status.replace('_', ' ')}
        </Badge>
        <code>{run.model}</code>
        <span className="soft small">
          <Ago at={run.created_at * 1_000} />
          {run.started_at !== null &&
            `, ${seconds(run.created_at, run.completed_at ?? run.failed_at ?? run.cancelled_at)}`}
        </span>
        {may('assistants.write') && isActive(run) && run.status !== 'cancelling' && (
          <Button size="small" icon="close" isBusy={cancel.isPending} onClick={() => cancel.mutate()}>
            Cancel
          </Button>
        )}
      </div>
      {run.last_error && <Note tone="bad">{run.last_error.message}</Note>}
      <ol className="assistants-steps">
        {steps.data?.data.map((step) => (
          <Step key={step.id} step={step} />
        ))}
      </ol>
      {run.required_action && may('assistants.write') && <Answers params={params} action={run.required_action} />}
      {run.usage && (
        <span className="soft small numeric">
          {formatNumber(run.usage.prompt_tokens)} tokens in, {formatNumber(run.usage.completion_tokens)} out
        </span>
      )}
    </li>
  );
}

function Step({ step }: { readonly step: RunStep }) {
  const { step_details: details } = step;
  return (
    <li className={`assistants-step assistants-step-${step.status}`}>
      <Icon name={details.type === 'message_creation' ? 'chat' : 'tools'} size={14} />
      <div className="stack gap-1">
        <span>
          {details.type === 'message_creation' ? 'wrote a message' : 'used tools'}{' '}
          <span className="soft small">
            {step.status.replace('_', ' ')}
            {step.completed_at !== null && `, ${seconds(step.created_at, step.completed_at)}`}
          </span>
        </span>
        {details.type === 'tool_calls' &&
          details.tool_calls.map((call) => (
            <details key={call.id} className="assistants-call">
              <summary>{call.type === 'function' ? call.function.name : call.type.replace('_', ' ')}</summary>
              <pre>{shown(call)}</pre>
            </details>
          ))}
        {step.last_error && <Note tone="bad">{step.last_error.message}</Note>}
      </div>
    </li>
  );
}

type Details = Extract<RunStep['step_details'], { type: 'tool_calls' }>;

function shown(call: Details['tool_calls'][number]): string {
  if (call.type === 'function')
    return `${call.function.arguments}\n\n${call.function.output ?? 'waits for its answer'}`;
  if (call.type === 'file_search')
    return (
      call.file_search.results?.map(({ file_name, score }) => `${file_name} ${score.toFixed(2)}`).join('\n') ||
      'found nothing'
    );
  const { input, outputs } = call.code_interpreter;
  return `${input}\n\n${outputs.map((each) => (each.type === 'logs' ? each.logs : `picture ${each.image.file_id}`)).join('\n')}`;
}

/** The run waits for what its functions answer. */
function Answers({
  params,
  action,
}: {
  readonly params: { thread_id: string; run_id: string };
  readonly action: NonNullable<Run['required_action']>;
}) {
  const calls = action.submit_tool_outputs.tool_calls;
  const [outputs, setOutputs] = useState<Readonly<Record<string, string>>>({});
  const { headers } = usePaying();
  const submit = useAction(
    () =>
      api.post('/v1/threads/{thread_id}/runs/{run_id}/submit_tool_outputs', {
        params,
        headers,
        body: { tool_outputs: calls.map(({ id }) => ({ tool_call_id: id, output: outputs[id] ?? '' })) },
      }),
    { changes: ['/v1/threads/{thread_id}/'] },
  );
  return (
    <form
      className="stack gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        submit.mutate();
      }}
    >
      {calls.map(({ id, function: { name, arguments: given } }) => (
        <Field key={id} label={`What ${name} answers`} help={given}>
          {(control) => (
            <Textarea
              {...control}
              rows={2}
              value={outputs[id] ?? ''}
              onChange={(event) => setOutputs({ ...outputs, [id]: event.target.value })}
            />
          )}
        </Field>
      ))}
      <Stack>
        <Button type="submit" look="primary" size="small" isBusy={submit.isPending}>
          Let it go on
        </Button>
      </Stack>
    </form>
  );
}
