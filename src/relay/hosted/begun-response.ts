import type { JsonObject } from '../../dialects/ir.ts';
import { objectIn, present } from '../../dialects/json.ts';
import { shownTools } from '../../dialects/responses/shown-tools.ts';

/** A response of which no model has said anything: what it was asked for, in the vendor's words for what was not given. */
export const begunResponse = (body: JsonObject, createdAt: number): JsonObject =>
  present({
    object: 'response',
    created_at: createdAt,
    access_programs: null,
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
    temperature: body.temperature ?? null,
    text: { format: { type: 'text' }, ...objectIn(body.text) },
    tool_choice: body.tool_choice ?? 'auto',
    tools: shownTools(body.tools ?? []),
    top_p: body.top_p ?? null,
    truncation: body.truncation ?? 'disabled',
    user: body.user ?? undefined,
  }) as JsonObject;
