import type { ModelReply, ReplyEvent, ToolCallPart } from './ir.ts';
import { type KnownTool, knownCall } from './plain-tools.ts';

type Known = ReadonlyMap<string, KnownTool>;

/** An answer whose calls of functions are calls of the tools that the client gave (`plain-tools.ts`). */
export function withKnownCalls(reply: ModelReply, known: Known): ModelReply {
  if (known.size === 0) return reply;
  const choices = reply.choices.map((choice) => ({
    ...choice,
    parts: choice.parts.map((part) => {
      const tool = part.type === 'tool-call' ? known.get(part.name) : undefined;
      return tool ? knownCall(part as ToolCallPart, tool) : part;
    }),
  }));
  return { ...reply, choices };
}

/** The same for an answer that comes in events. Calls whose text takes another form are held until they are whole. */
export class KnownCalls {
  readonly #known: Known;
  readonly #held = new Map<string, { readonly part: ToolCallPart; readonly tool: KnownTool; text: string }>();

  constructor(known: Known) {
    this.#known = known;
  }

  push(event: ReplyEvent): readonly ReplyEvent[] {
    if (event.type !== 'part-start' && event.type !== 'part-delta' && event.type !== 'part-end') return [event];
    const key = `${event.choice} ${event.index}`;
    if (event.type === 'part-start') {
      const { part } = event;
      const tool = part.type === 'tool-call' ? this.#known.get(part.name) : undefined;
      if (part.type !== 'tool-call' || !tool) return [event];
      if (tool.kind === 'function') return [{ ...event, part: knownCall(part, tool) }];
      this.#held.set(key, { part, tool, text: part.argsText });
      return [];
    }
    const held = this.#held.get(key);
    if (!held) return [event];
    if (event.type === 'part-delta') {
      held.text += event.delta.text ?? '';
      return [];
    }
    this.#held.delete(key);
    return this.#whole(held, event);
  }

  /** Calls that the provider's stream has not ended. */
  end(): readonly ReplyEvent[] {
    return [...this.#held].flatMap(([key, held]) => {
      this.#held.delete(key);
      const [choice, index] = key.split(' ').map(Number);
      return this.#whole(held, { type: 'part-end', choice: choice!, index: index! });
    });
  }

  #whole(
    { part, tool, text }: { part: ToolCallPart; tool: KnownTool; text: string },
    end: Extract<ReplyEvent, { type: 'part-end' }>,
  ): ReplyEvent[] {
    const { choice, index } = end;
    const whole = knownCall({ ...part, argsText: text }, tool);
    if (whole.type !== 'tool-call') return [{ type: 'part-start', choice, index, part: whole }, end];
    return [
      { type: 'part-start', choice, index, part: { ...whole, argsText: '' } },
      { type: 'part-delta', choice, index, delta: { text: whole.argsText } },
      end,
    ];
  }
}
