import type { RunStepRow } from '../../storage/schema.ts';
import type { Answer } from './answer.ts';
import { isBuiltIn } from './built-in.ts';
import { type Ending, failure } from './ending.ts';
import { finishCutToolStep, finishMessage, type Parts, storeLateMessage, storeToolStep, withdraw } from './parts.ts';
import type { RunUsage } from './run.ts';

/** What a whole answer means for its run. */
export type Consequence =
  | { readonly type: 'end'; readonly ending: Ending }
  /** There are calls that the gateway carries out itself. */
  | { readonly type: 'use'; readonly step: RunStepRow }
  | { readonly type: 'ask-client'; readonly step: RunStepRow };

export interface Settled {
  readonly answer: Answer;
  readonly usage: RunUsage;
  /** What those who watch were told has begun, by this attempt or one before it. */
  readonly opened: 'message' | 'tools' | null;
}

const FILTERED = 'The content filter of the provider stopped the answer.';

/** Puts what the model said where it belongs. */
export async function settleAnswer(parts: Parts, settled: Settled): Promise<Consequence> {
  const { answer } = settled;
  if (answer.fault) return ends(failure('server_error', answer.fault));
  const isCalling = answer.exchanges.length > 0 && answer.finish !== 'length';
  return isCalling ? settleCalls(parts, settled) : settleText(parts, settled);
}

async function settleCalls(parts: Parts, { answer, usage, opened }: Settled): Promise<Consequence> {
  if (answer.hasText && opened === 'tools') await storeLateMessage(parts, answer, usage);
  else if (answer.hasText)
    await finishMessage(parts, { answer, usage, isOpen: opened === 'message', incomplete: null });
  else if (opened === 'message') await withdraw(parts, opened);
  const step = await storeToolStep(parts, answer, opened === 'tools');
  return { type: answer.exchanges.some(({ type }) => isBuiltIn(type)) ? 'use' : 'ask-client', step };
}

async function settleText(parts: Parts, { answer, usage, opened }: Settled): Promise<Consequence> {
  const isCut = answer.finish === 'length';
  const isFiltered = answer.finish === 'content_filter';
  const hasCutCalls = answer.exchanges.length > 0;
  if (opened === 'tools' && hasCutCalls) await finishCutToolStep(parts, answer, usage);
  else if (opened === 'tools') await withdraw(parts, opened);
  // What was cut or filtered before its first word is no message; an answer that is empty and whole is one.
  if (answer.hasText || !(isCut || isFiltered)) {
    const incomplete = isCut ? 'max_tokens' : isFiltered ? 'content_filter' : null;
    await finishMessage(parts, { answer, usage, isOpen: opened === 'message', incomplete });
  } else if (opened === 'message') await withdraw(parts, opened);
  if (isCut) return ends({ status: 'incomplete', reason: 'max_completion_tokens' });
  return ends(isFiltered && !answer.hasText ? failure('invalid_prompt', FILTERED) : { status: 'completed' });
}

const ends = (ending: Ending): Consequence => ({ type: 'end', ending });
