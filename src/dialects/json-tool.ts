import type { Changed } from './dialect.ts';
import type { Choice, DialectName, ModelReply, ModelRequest, Part, ReplyEvent, ToolCallPart } from './ir.ts';

/** Dialects that give JSON by a schema only. */
const BY_SCHEMA: ReadonlySet<DialectName> = new Set(['anthropic', 'converse']);

export const JSON_TOOL = 'give_json_answer';

export interface JsonByTool {
  readonly request: ModelRequest;
  /** Whether the answer comes as a call of that tool. */
  readonly isCalled: boolean;
  readonly changed: readonly Changed[];
}

/**
 * "Any JSON object" for a provider that wants a schema: the model must call a function, and what it calls it with is the
 * answer. Not beside other tools or thoughts, with which a call cannot be forced.
 */
export function jsonByTool(request: ModelRequest, into: DialectName): JsonByTool {
  const { responseFormat, tools = [], reasoning } = request;
  const isThinking = reasoning !== undefined && reasoning.mode !== 'off' && reasoning.effort !== 'none';
  if (responseFormat?.type !== 'json' || !BY_SCHEMA.has(into) || tools.length > 0 || isThinking)
    return { request, isCalled: false, changed: [] };
  const { responseFormat: _format, ...others } = request;
  const parameters = { type: 'object', properties: {}, additionalProperties: true };
  const description = 'Gives the answer. Its arguments are the JSON object that the user asked for.';
  return {
    request: {
      ...others,
      tools: [{ type: 'function', name: JSON_TOOL, description, parameters }],
      toolChoice: { type: 'tool', name: JSON_TOOL },
    },
    isCalled: true,
    changed: [
      { path: request.origin?.names.responseFormat ?? 'responseFormat', how: 'by a function that must be called' },
    ],
  };
}

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
