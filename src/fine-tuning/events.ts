import type { RemoteEvent } from './backends/backend.ts';
import type { Job, JobState, JobStatus } from './job.ts';

/** What the gateway says itself about a job, in the words of OpenAI's API. */
const said = (name: string, message: string, at: number, level: RemoteEvent['level'] = 'info'): RemoteEvent => ({
  remoteId: `gateway:${name}`,
  createdAt: at,
  level,
  message,
  type: 'message',
  data: null,
});

export function createdEvents({ id, request, createdAt }: Job): RemoteEvent[] {
  const { training_file, validation_file } = request;
  const second = validation_file === null ? '' : ` and validation file: ${validation_file}`;
  return [
    said('created', `Created fine-tuning job: ${id}`, createdAt),
    said('validating', `Validating training file: ${training_file}${second}`, createdAt),
  ];
}

/** What is to be said about the states that were entered. */
export const enteredEvents = (state: JobState, entered: readonly JobStatus[], now: number): RemoteEvent[] =>
  entered.flatMap((status) => eventsOf(status, state, now));

function eventsOf(status: JobStatus, state: JobState, now: number): RemoteEvent[] {
  switch (status) {
    case 'validating_files':
      return [];
    case 'queued':
      return 'isPaused' in state && state.isPaused
        ? [said(`paused:${now}`, 'Fine-tuning job paused', now)]
        : [said('queued', 'Files validated, moving job to queued state', now)];
    case 'running':
      return [said('running', 'Fine-tuning job started', now)];
    case 'succeeded': {
      const model = state.status === 'succeeded' ? state.fineTunedModel : null;
      const created = model === null ? [] : [said('model', `New fine-tuned model created: ${model}`, now)];
      return [...created, said('succeeded', 'The job has successfully completed', now)];
    }
    case 'failed':
      return [said('failed', state.status === 'failed' ? state.error.message : 'The job failed', now, 'error')];
    case 'cancelled':
      return [said('cancelled', 'Fine-tuning job cancelled', now)];
    default:
      return status satisfies never;
  }
}

/** Told once for each time that the provider is away; the status stays what it was. */
export const awayEvent = (error: unknown, now: number): RemoteEvent =>
  said(
    `away:${now}`,
    `Nothing is known of the job at the moment (${error instanceof Error ? error.message.slice(0, 300) : 'unknown'}); it is asked for again.`,
    now,
    'warn',
  );

/** A text of the provider with our ids in place of its own. */
export function inOurWords(text: string, { id, remote }: Job): string {
  let told = remote.job === null ? text : text.replaceAll(remote.job, id);
  for (const [ours, { name }] of Object.entries(remote.files)) if (name !== null) told = told.replaceAll(name, ours);
  return told;
}

const dataInOurWords = (data: unknown, job: Job): unknown =>
  data === null || data === undefined ? null : JSON.parse(inOurWords(JSON.stringify(data), job));

/** The provider's events, oldest first, without those that the gateway has told already. */
export function retold(events: readonly RemoteEvent[], job: Job): RemoteEvent[] {
  const told = new Set(createdEvents(job).map(({ message }) => message));
  return events
    .map((event) => ({ ...event, message: inOurWords(event.message, job), data: dataInOurWords(event.data, job) }))
    .filter(({ message }) => !told.has(message))
    .reverse();
}
