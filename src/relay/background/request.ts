import type { JsonObject } from '../../dialects/ir.ts';
import { objectIn, present } from '../../dialects/json.ts';
import { shownTools } from '../../dialects/responses/shown-tools.ts';

/** What a response in the background is made from, whichever node makes it. JSON, and sealed in the store. */
export interface BackgroundRequest {
  /** As the client sent it, references resolved. */
  readonly body: JsonObject;
  /** What was said before. */
  readonly earlier: readonly unknown[];
  readonly previousId?: string;
  readonly conversation: string | null;
  /** What its calls say in their headers. */
  readonly headers: Readonly<Record<string, string>>;
  readonly traceId?: string;
  /** Only tools that stand in for a provider's are run. */
  readonly isLeft: boolean;
  readonly isWanted: boolean;
  readonly isKept: boolean;
}

/** The response before a model was asked. */
export const queuedResponse = (id: string, { body, conversation }: BackgroundRequest, createdAt: number): JsonObject =>
  present({
    id,
    object: 'response',
    created_at: createdAt,
    status: 'queued',
    background: true,
    conversation: conversation === null ? undefined : { id: conversation },
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? undefined,
    metadata: objectIn(body.metadata),
    model: body.model,
    output: [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    reasoning: { effort: null, summary: null, ...objectIn(body.reasoning) },
    store: true,
    temperature: body.temperature ?? null,
    text: { format: { type: 'text' }, ...objectIn(body.text) },
    tool_choice: body.tool_choice ?? 'auto',
    tools: shownTools(body.tools ?? []),
    top_p: body.top_p ?? null,
    truncation: body.truncation ?? 'disabled',
    usage: null,
    user: body.user,
  }) as JsonObject;
