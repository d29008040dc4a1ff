import type { Encoded, ReplyContext } from '../dialect.ts';
import { FramingError } from '../framing-error.ts';
import type {
  Choice,
  Finish,
  FinishReason,
  JsonObject,
  ModelReply,
  Part,
  RefusalPart,
  ReplyHead,
  TextPart,
} from '../ir.ts';
import { countIn, isObject, objectIn, objectsIn, present, restOf, someTextIn, textIn } from '../json.ts';
import { Losses } from '../losses.ts';
import { ECHOED, echo } from './echo.ts';
import { encodeTier } from './encode.ts';
import { isSaid, itemId, itemParts, messageItem, partItem } from './output.ts';
import { decodeUsage, encodeUsage, noteUsage } from './usage.ts';
import { finishReason, incompleteReason, type OutputItem, type ResponseReply, type Said } from './wire.ts';

const HEAD_MEMBERS = new Set([
  ...ECHOED,
  'id',
  'object',
  'created_at',
  'completed_at',
  'model',
  'status',
  'error',
  'incomplete_details',
  'output',
  'output_text',
  'service_tier',
  'usage',
]);

export function decodeReply(body: unknown): ModelReply {
  if (!isObject(body) || !Array.isArray(body.output)) throw new FramingError('the answer is no response');
  if (body.status === 'failed' || isObject(body.error))
    throw new FramingError(`the response failed: ${textIn(objectIn(body.error).message) ?? 'no reason was given'}`);
  const parts = objectsIn(body.output).flatMap(itemParts);
  return present<ModelReply>({
    ...decodeHead(body),
    choices: [{ parts, finish: decodeFinish(body, saidIn(parts)) }],
    usage: isObject(body.usage) ? decodeUsage(body.usage) : undefined,
  });
}

export function decodeHead(response: JsonObject): ReplyHead {
  const tier = textIn(response.service_tier);
  const rest = restOf(response, HEAD_MEMBERS);
  return present<ReplyHead>({
    id: someTextIn(response.id),
    model: someTextIn(response.model),
    createdAt: countIn(response.created_at),
    serviceTier: tier === 'default' ? 'standard' : tier,
    ext: rest && { responses: rest },
  });
}

const saidIn = (parts: readonly Part[]): Said => ({
  hasCalls: parts.some((part) => part.type === 'tool-call'),
  hasRefusal: parts.some((part) => part.type === 'refusal'),
});

export function decodeFinish(response: JsonObject, said: Said): Finish {
  const status = textIn(response.status) ?? 'completed';
  const incomplete = textIn(objectIn(response.incomplete_details).reason);
  return { reason: finishReason(status, incomplete, said), raw: incomplete ?? status };
}

/** An id that the caller made for this response is the one it will be stored under. */
const idOf = (head: ReplyHead, { id }: ReplyContext): string => (id.startsWith('resp_') ? id : (head.id ?? id));

/** A response of which nothing has been said yet. */
export function emptyResponse(head: ReplyHead, context: ReplyContext): ResponseReply {
  return present<ResponseReply>({
    access_programs: null,
    ...head.ext?.responses,
    id: idOf(head, context),
    object: 'response',
    created_at: head.createdAt ?? Math.floor(context.now / 1000),
    model: head.model ?? context.request.model,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    output: [],
    ...echo(context),
    service_tier: encodeTier(head.serviceTier),
  });
}

export function encodeFinish(
  reason: FinishReason,
  hasRefusal: boolean,
): Pick<ResponseReply, 'status' | 'incomplete_details'> {
  const incomplete = incompleteReason(reason, hasRefusal);
  return incomplete === null
    ? { status: 'completed', incomplete_details: null }
    : { status: 'incomplete', incomplete_details: { reason: incomplete } };
}

export function encodeReply(reply: ModelReply, context: ReplyContext): Encoded<ResponseReply> {
  const losses = new Losses('responses');
  const choice = reply.choices[0] ?? { parts: [], finish: { reason: 'other' } };
  const response = emptyResponse(reply, context);
  const finish = encodeFinish(choice.finish.reason, saidIn(choice.parts).hasRefusal);
  noteLosses(reply, choice, finish.status, losses);
  return losses.with(
    present<ResponseReply>({
      ...response,
      ...finish,
      output: outputItems(choice.parts, response.id, finish.status === 'incomplete'),
      usage: reply.usage && encodeUsage(reply.usage),
    }),
  );
}

function outputItems(parts: readonly Part[], responseId: string, isIncomplete: boolean): OutputItem[] {
  const groups: Part[][] = [];
  for (const part of parts) {
    const last = groups.at(-1);
    if (last && isSaid(part) && isSaid(last[0]!)) last.push(part);
    else if (isSaid(part) || partItem(part, '', 'completed')) groups.push([part]);
  }
  return groups.map((group, index) => {
    const [first] = group as [Part];
    const status = isIncomplete && index === groups.length - 1 ? 'incomplete' : 'completed';
    const id = itemId(first, responseId, index);
    return isSaid(first) ? messageItem(group as (TextPart | RefusalPart)[], id, status) : partItem(first, id, status)!;
  });
}

function noteLosses(reply: ModelReply, choice: Choice, status: ResponseReply['status'], losses: Losses) {
  losses.requestExt(reply.ext);
  losses.ext(choice, 'choices[0]');
  losses.ext(choice.finish, 'choices[0].finish');
  for (let index = 1; index < reply.choices.length; index++)
    losses.node({}, `choices[${index}]`, 'responses gives one answer per call');
  for (const [index, part] of choice.parts.entries()) notePart(part, `choices[0].parts[${index}]`, losses);
  if (choice.finish.stopSequence !== undefined)
    losses.member({}, 'choices[0].finish', 'stopSequence', 'responses does not tell it');
  const { reason } = choice.finish;
  const said = saidIn(choice.parts);
  if (finishReason(status, incompleteReason(reason, said.hasRefusal) ?? undefined, said) !== reason)
    losses.change({}, 'choices[0].finish', `given as ${status}`);
  if (reply.usage) noteUsage(reply.usage, losses);
}

function notePart(part: Part, path: string, losses: Losses) {
  losses.ext(part, path);
  if (isSaid(part)) {
    if (part.type === 'refusal' && part.logprobs)
      losses.member(part, path, 'logprobs', 'refusals have none in responses');
    return;
  }
  if (!partItem(part, '', 'completed')) losses.node(part, path, 'answers of responses cannot have this');
  else if (part.type === 'media') losses.change(part, path, 'given as the result of the tool that makes pictures');
  else if (part.type === 'reasoning' && !part.text && part.redacted === undefined)
    losses.change(part, path, 'given as a thought of which nothing is shown');
}
