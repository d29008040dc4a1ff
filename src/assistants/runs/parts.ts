import type { MessageRow, RunCallRow, RunRow, RunStepRow } from '../../storage/schema.ts';
import type { Db } from '../../storage/store.ts';
import { type ContentBlock, shownMessage } from '../messages.ts';
import { type Answer, messageDelta, stepDelta } from './answer.ts';
import { begunCall } from './built-in.ts';
import type { Tell } from './events.ts';
import { messageById, putMessage, putStep, removeMessage, removeStep } from './rows.ts';
import type { RunUsage } from './run.ts';
import { type Exchange, type StepDetails, shownStep } from './step.ts';

/** What comes of a model call: a message, a step of tool calls, or first the one and then the other. */
export interface Parts {
  readonly db: Db;
  readonly tell: Tell;
  readonly run: RunRow;
  readonly call: RunCallRow;
  readonly now: number;
}

const newStep = ({ run, call, now }: Parts, id: string, details: StepDetails): RunStepRow => ({
  id,
  run_id: run.id,
  call: call.number,
  status: 'in_progress',
  details: JSON.stringify(details),
  exchange: '[]',
  last_error: null,
  usage: null,
  created_at: now,
  expired_at: null,
  cancelled_at: null,
  failed_at: null,
  completed_at: null,
});

const messageStep = (parts: Parts): RunStepRow =>
  newStep(parts, parts.call.message_step_id, {
    type: 'message_creation',
    message_creation: { message_id: parts.call.message_id },
  });

const newMessage = ({ run, call, now }: Parts): MessageRow => ({
  id: call.message_id,
  thread_id: run.thread_id,
  // What a person was answered is theirs, too.
  user_id: run.user_id,
  role: 'assistant',
  status: 'in_progress',
  content: '[]',
  attachments: '[]',
  assistant_id: run.assistant_id,
  run_id: run.id,
  metadata: '{}',
  incomplete_reason: null,
  created_at: now,
  completed_at: null,
  incomplete_at: null,
  deleted_at: null,
});

export async function openMessage(parts: Parts): Promise<void> {
  const { db, tell, run } = parts;
  const step = shownStep(await putStep(db, messageStep(parts)), run);
  const message = shownMessage(await putMessage(db, newMessage(parts)));
  tell('thread.run.step.created', step);
  tell('thread.run.step.in_progress', step);
  tell('thread.message.created', message);
  tell('thread.message.in_progress', message);
}

export async function openToolStep(parts: Parts): Promise<void> {
  const { db, tell, run, call } = parts;
  const step = newStep(parts, call.tool_step_id, { type: 'tool_calls', tool_calls: [] });
  const shown = shownStep(await putStep(db, step), run);
  tell('thread.run.step.created', shown);
  tell('thread.run.step.in_progress', shown);
}

export interface MessageEnd {
  readonly answer: Answer;
  readonly usage: RunUsage;
  /** Whether those who watch were told of it. */
  readonly isOpen: boolean;
  /** Why it is not all that was to be said. */
  readonly incomplete: 'max_tokens' | 'content_filter' | null;
}

export async function finishMessage(parts: Parts, { answer, usage, isOpen, incomplete }: MessageEnd): Promise<void> {
  const { tell, run, call } = parts;
  if (!isOpen) {
    await openMessage(parts);
    tell('thread.message.delta', messageDelta(call.message_id, answer.wholeContent));
  }
  const message = await storeMessage(parts, answer.content, incomplete);
  const step = await completeStep(parts, messageStep(parts), usage);
  tell(incomplete ? 'thread.message.incomplete' : 'thread.message.completed', shownMessage(message));
  tell('thread.run.step.completed', shownStep(step, run));
}

/** Text that came after tool calls: the thread has it, but a client that watches sees one open step at a time. */
export async function storeLateMessage(parts: Parts, answer: Answer, usage: RunUsage): Promise<void> {
  await storeMessage(parts, answer.content, null);
  await completeStep(parts, messageStep(parts), usage);
}

async function storeMessage(parts: Parts, content: ContentBlock[], incomplete: MessageEnd['incomplete']) {
  const { db, now } = parts;
  return putMessage(db, {
    ...newMessage(parts),
    content: JSON.stringify(content),
    ...(incomplete
      ? { status: 'incomplete', incomplete_reason: incomplete, incomplete_at: now }
      : { status: 'completed', completed_at: now }),
  });
}

const completeStep = ({ db, now }: Parts, step: RunStepRow, usage: RunUsage): Promise<RunStepRow> =>
  putStep(db, { ...step, status: 'completed', completed_at: now, usage: JSON.stringify(usage) });

/** The step with all calls of the answer, waiting for their results. */
export async function storeToolStep(parts: Parts, answer: Answer, isOpen: boolean): Promise<RunStepRow> {
  const { db, tell, call } = parts;
  if (!isOpen) {
    await openToolStep(parts);
    tell('thread.run.step.delta', stepDelta(call.tool_step_id, answer.wholeCalls));
  } else if (answer.restOfCalls.length > 0)
    tell('thread.run.step.delta', stepDelta(call.tool_step_id, answer.restOfCalls));
  const { exchanges } = answer;
  return putStep(db, {
    ...newStep(parts, call.tool_step_id, detailsFor(exchanges)),
    exchange: JSON.stringify(exchanges),
  });
}

const detailsFor = (exchanges: readonly Exchange[]): StepDetails => ({
  type: 'tool_calls',
  tool_calls: exchanges.map((call) => begunCall(call.type, call)),
});

/** Tool calls that were cut off in the middle: the step shows them, but the client is not asked to carry them out. */
export async function finishCutToolStep(parts: Parts, answer: Answer, usage: RunUsage): Promise<void> {
  const { tell, run, call } = parts;
  const step = await completeStep(parts, newStep(parts, call.tool_step_id, detailsFor(answer.exchanges)), usage);
  tell('thread.run.step.completed', shownStep(step, run));
}

/** Takes back what an attempt began whose process died: the one that counts went another way. */
export async function withdraw(parts: Parts, opened: 'message' | 'tools'): Promise<void> {
  const { db, tell, run, call, now } = parts;
  const ended = { status: 'failed', failed_at: now };
  if (opened === 'message') {
    const message = await messageById(db, call.message_id);
    if (message) {
      const incomplete = { status: 'incomplete', incomplete_reason: 'run_failed', incomplete_at: now };
      tell('thread.message.incomplete', shownMessage({ ...message, ...incomplete }));
    }
    await removeMessage(db, call.message_id);
  }
  const step =
    opened === 'message'
      ? messageStep(parts)
      : newStep(parts, call.tool_step_id, { type: 'tool_calls', tool_calls: [] });
  tell('thread.run.step.failed', shownStep({ ...step, ...ended }, run));
  await removeStep(db, step);
}
