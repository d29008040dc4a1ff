import type { Delta, Part } from '../ir.ts';
import { replyContent } from './output.ts';
import { wireLogprobs } from './wire.ts';

/** Events of a part and their own members; who sends them adds the item they belong to. */
type PartEvents = readonly (readonly [type: string, members: object])[];

const TEXT = 'response.output_text';
const REFUSAL = 'response.refusal';
const ARGUMENTS = 'response.function_call_arguments';
const INPUT = 'response.custom_tool_call_input';
const SUMMARY = 'response.reasoning_summary_text';
const FIRST = { summary_index: 0 };
const NO_SUMMARY = { type: 'summary_text', text: '' };

export function partStarted(part: Part): PartEvents {
  switch (part.type) {
    case 'text':
    case 'refusal': {
      const { logprobs, ...rest } = part as Extract<Part, { type: 'text' }>;
      const empty = replyContent({ ...rest, text: '' });
      return [['response.content_part.added', { part: empty }], ...partDelta(part, { text: part.text, logprobs })];
    }
    case 'tool-call':
      return partDelta(part, { text: part.argsText });
    case 'reasoning':
      return part.text ? partDelta({ type: 'reasoning' }, { text: part.text }) : [];
    default:
      return [];
  }
}

/** `part` is what it was before the delta. */
export function partDelta(part: Part, { text = '', logprobs }: Delta): PartEvents {
  switch (part.type) {
    case 'text':
      if (!text && !logprobs) return [];
      return [[`${TEXT}.delta`, { delta: text, logprobs: wireLogprobs(logprobs ?? []) }]];
    case 'refusal':
      return text ? [[`${REFUSAL}.delta`, { delta: text }]] : [];
    case 'tool-call':
      return text ? [[`${part.custom ? INPUT : ARGUMENTS}.delta`, { delta: text }]] : [];
    case 'reasoning': {
      if (!text) return [];
      const delta = [`${SUMMARY}.delta`, { ...FIRST, delta: text }] as const;
      return part.text ? [delta] : [['response.reasoning_summary_part.added', { ...FIRST, part: NO_SUMMARY }], delta];
    }
    default:
      return [];
  }
}

export function partDone(part: Part): PartEvents {
  switch (part.type) {
    case 'text': {
      const logprobs = wireLogprobs(part.logprobs ?? []);
      return [
        [`${TEXT}.done`, { text: part.text, logprobs }],
        ['response.content_part.done', { part: replyContent(part) }],
      ];
    }
    case 'refusal':
      return [
        [`${REFUSAL}.done`, { refusal: part.text }],
        ['response.content_part.done', { part: replyContent(part) }],
      ];
    case 'tool-call': {
      if (part.custom) return [[`${INPUT}.done`, { input: part.argsText }]];
      return [[`${ARGUMENTS}.done`, { arguments: part.argsText, name: part.name }]];
    }
    case 'reasoning': {
      const { text } = part;
      if (!text) return [];
      return [
        [`${SUMMARY}.done`, { ...FIRST, text }],
        ['response.reasoning_summary_part.done', { ...FIRST, part: { type: 'summary_text', text } }],
      ];
    }
    default:
      return [];
  }
}
