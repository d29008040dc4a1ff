import type { Choice, JsonFormat, ModelReply, ModelRequest, Part, ReplyEvent, ToolCallPart } from './ir.ts';

/** JSON for a provider that has no setting for it: the model must call a function, whose arguments are the answer. */

export const JSON_TOOL = 'give_json_answer';

const DESCRIPTION = 'Gives the answer. Its arguments are the JSON object that the user asked for.';

/** "Any JSON object". */
export const jsonByTool = (request: ModelRequest): ModelRequest =>
  calling(request, { type: 'object', properties: {}, additionalProperties: true });

/** An object of a schema; null for a schema of something else, which no function takes. */
export function schemaByTool(
  request: ModelRequest,
  { schema, description }: Extract<JsonFormat, { type: 'schema' }>,
): ModelRequest | null {
  return schema.type === 'object' ? calling(request, schema, description) : null;
}

const calling = (
  request: ModelRequest,
  parameters: Readonly<Record<string, unknown>>,
  description = DESCRIPTION,
): ModelRequest => ({
  ...request,
  tools: [{ type: 'function', name: JSON_TOOL, description, parameters }],
  toolChoice: { type: 'tool', name: JSON_TOOL },
});

const isAnswer = (part: Part): part is ToolCallPart => part.type === 'tool-call' && part.name === JSON_TOOL;
const said = ({ argsText }: ToolCallPart): Part => ({ type: 'text', text: argsText });

/** The answer with that call as its text. Words beside it were not asked for. */
export function withJsonText(reply: ModelReply): ModelReply {
  return { ...reply, choices: reply.choices.map(jsonChoice) };
}

function jsonChoice(choice: Choice): Choice {
  const call = choice.parts.find(isAnswer);
  if (!call) return choice;
  const parts = choice.parts.flatMap((part) =>
    part === call ? [said(call)] : part.type === 'reasoning' ? [part] : [],
  );
  return { ...choice, parts, finish: stopped(choice.finish) };
}

const stopped = (finish: Choice['finish']): Choice['finish'] =>
  finish.reason === 'tool-calls' ? { ...finish, reason: 'stop' } : finish;

/** The same for an answer that comes in events. Its pieces pass as they come. */
export function jsonEvent(event: ReplyEvent): readonly ReplyEvent[] {
  if (event.type === 'finish') return [{ ...event, finish: stopped(event.finish) }];
  if (event.type === 'part-start' && isAnswer(event.part)) return [{ ...event, part: said(event.part) }];
  return [event];
}
