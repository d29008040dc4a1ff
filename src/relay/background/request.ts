import type { JsonObject } from '../../dialects/ir.ts';
import { present } from '../../dialects/json.ts';
import { begunResponse } from '../hosted/begun-response.ts';

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
    ...begunResponse(body, createdAt),
    id,
    status: 'queued',
    background: true,
    conversation: conversation === null ? undefined : { id: conversation },
    store: true,
  }) as JsonObject;
