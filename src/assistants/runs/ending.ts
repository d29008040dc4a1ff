import type { RunRow, RunStepRow } from '../../storage/schema.ts';
import type { Db } from '../../storage/store.ts';
import { type ContentBlock, shownMessage } from '../messages.ts';
import type { Annotation } from './annotations.ts';
import { piecesOf, type Tell } from './events.ts';
import { changeRun, messageById, openStepOf, putMessage, putStep, removeMessage, removeStep } from './rows.ts';
import { type RunError, type RunStatus, shownRun } from './run.ts';
import { detailsOf, shownStep } from './step.ts';

/** The ways in which a run ends. */
export type Ending =
  | { readonly status: 'completed' }
  | { readonly status: 'incomplete'; readonly reason: 'max_completion_tokens' | 'max_prompt_tokens' }
  | { readonly status: 'failed'; readonly error: RunError }
  | { readonly status: 'cancelled' }
  | { readonly status: 'expired' };

export const failure = (code: RunError['code'], message: string): Ending => ({
  status: 'failed',
  error: { code, message },
});

/** What a message and a step become that are open when their run ends like this. */
const OPEN_PARTS = {
  completed: { reason: 'run_failed', step: 'failed' },
  incomplete: { reason: 'max_tokens', step: 'completed' },
  failed: { reason: 'run_failed', step: 'failed' },
  cancelled: { reason: 'run_cancelled', step: 'cancelled' },
  expired: { reason: 'run_expired', step: 'expired' },
} as const;

/** The one way out: closes what is open, says how the run ended, and unlocks the thread. */
export async function endRun(db: Db, run: RunRow, ending: Ending, { tell, now }: { tell: Tell; now: number }) {
  const { status } = ending;
  await closeOpenParts(db, run, ending, { tell, now });
  let left = run;
  if (status === 'cancelled' && run.status !== 'cancelling') left = await changeRun(db, run, cancelling);
  if (status === 'cancelled') tell('thread.run.cancelling', shownRun(left));
  const ended = await changeRun(db, left, {
    status: status satisfies RunStatus,
    required_action: null,
    // The proofs go: no later call of this run will be judged by them.
    proofs: null,
    ended_at: now,
    ...(status === 'completed' && { completed_at: now }),
    ...(status === 'cancelled' && { cancelled_at: now }),
    ...(status === 'incomplete' && { incomplete_reason: ending.reason }),
    ...(status === 'failed' && { failed_at: now, last_error: JSON.stringify(ending.error) }),
  });
  tell(`thread.run.${status}`, shownRun(ended));
  return ended;
}

export const cancelling = { status: 'cancelling', required_action: null } as const;

async function closeOpenParts(db: Db, run: RunRow, ending: Ending, { tell, now }: { tell: Tell; now: number }) {
  const step = await openStepOf(db, run.id);
  if (!step) return;
  const { reason, step: becomes } = OPEN_PARTS[ending.status];
  const details = detailsOf(step);
  let isEmpty = false;
  if (details.type === 'message_creation') {
    const messageId = details.message_creation.message_id;
    const content = contentOf((await piecesOf(db, run.id, step.call)).map(({ data }) => data));
    isEmpty = content.length === 0;
    await closeMessage(db, messageId, { content, reason, tell, now });
    if (isEmpty) await removeMessage(db, messageId);
  }
  const error =
    ending.status === 'failed' ? { code: stepCode(ending.error.code), message: ending.error.message } : null;
  const closed: RunStepRow = {
    ...step,
    status: becomes,
    last_error: error && JSON.stringify(error),
    ...(becomes === 'failed' && { failed_at: now }),
    ...(becomes === 'cancelled' && { cancelled_at: now }),
    ...(becomes === 'expired' && { expired_at: now }),
    ...(becomes === 'completed' && { completed_at: now }),
  };
  tell(`thread.run.step.${becomes}`, shownStep(closed, run));
  // A message without a word was begun by an attempt of which nothing is left.
  if (isEmpty) await removeStep(db, step);
  else await putStep(db, closed);
}

/** A step's error knows no prompts. */
const stepCode = (code: RunError['code']): RunError['code'] => (code === 'invalid_prompt' ? 'server_error' : code);

async function closeMessage(
  db: Db,
  id: string,
  { content, reason, tell, now }: { content: readonly ContentBlock[]; reason: string; tell: Tell; now: number },
) {
  const message = await messageById(db, id);
  if (!message || message.deleted_at !== null) return;
  const row = await putMessage(db, {
    ...message,
    status: 'incomplete',
    content: JSON.stringify(content),
    incomplete_reason: reason,
    incomplete_at: now,
  });
  tell('thread.message.incomplete', shownMessage(row));
}

interface ContentPiece {
  readonly index: number;
  readonly type: 'text' | 'refusal' | 'image_file';
  readonly image_file?: { readonly file_id: string };
  readonly text?: { readonly value?: string; readonly annotations?: readonly (Annotation & { index: number })[] };
  readonly refusal?: string;
}

/** What the pieces of a message add up to. */
function contentOf(pieces: readonly string[]): ContentBlock[] {
  const images: ContentBlock[] = [];
  const texts = new Map<number, { type: 'text' | 'refusal'; text: string; annotations: Annotation[] }>();
  for (const piece of pieces) {
    const { delta } = JSON.parse(piece) as { delta: { content?: ContentPiece[] } };
    for (const { index, type, text, refusal, image_file } of delta.content ?? []) {
      if (type === 'image_file') {
        images.push(imageOf(image_file!.file_id));
        continue;
      }
      const block = texts.get(index) ?? { type, text: '', annotations: [] };
      block.text += (type === 'text' ? text?.value : refusal) ?? '';
      block.annotations.push(
        ...(text?.annotations ?? []).map(({ index: _, ...annotation }) => annotation as Annotation),
      );
      texts.set(index, block);
    }
  }
  const blocks = [...texts.values()].map(({ type, text, annotations }) => blockOf(type, text, annotations));
  return blocks.length === 0 ? [] : [...images, ...blocks];
}

/** An image that code has shown. */
export const imageOf = (file_id: string): ContentBlock & { type: 'image_file' } => ({
  type: 'image_file',
  image_file: { file_id, detail: 'auto' },
});

export const blockOf = (
  type: 'text' | 'refusal',
  text: string,
  annotations: readonly Annotation[] = [],
): ContentBlock =>
  type === 'text' ? { type, text: { value: text, annotations: [...annotations] } } : { type, refusal: text };
