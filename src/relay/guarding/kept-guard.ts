import type { ModelRequest } from '../../dialects/ir.ts';
import { finalResponse } from '../../dialects/responses/kept.ts';
import { SseParser } from '../../dialects/sse.ts';
import type { CachedAnswer, Lead } from '../../routing/cache.ts';
import type { KeptResponse } from '../kept-response.ts';
import { parsedReply } from '../rewritten.ts';

/** A response that is kept when it has passed and as it has passed: what is denied or blacked out is not kept either. */
export function keptAfterVerdict(kept: KeptResponse) {
  let asked: ModelRequest | null = null;
  return {
    kept: {
      ...kept,
      keep: async (request: ModelRequest) => {
        asked = request;
      },
    } satisfies KeptResponse,
    passed: async (bytes: Uint8Array, type: string) => {
      if (!asked) return;
      const response = type.startsWith('text/event-stream') ? lastResponse(bytes) : parsedReply(bytes, 'the provider');
      if (response) await kept.keep(asked, { ...(response as object), id: kept.id });
    },
  };
}

function lastResponse(bytes: Uint8Array) {
  const parser = new SseParser({ mostBytes: Math.max(1, bytes.byteLength) });
  const events = [...parser.push(bytes), ...parser.end()];
  return events.map(finalResponse).findLast((response) => response !== null) ?? null;
}

/** An answer is put into the cache as the provider gave it, and not before it has passed. */
export function storedAfterVerdict(turn: Lead): Lead & { release(): void } {
  let answer: CachedAnswer | null = null;
  let isReleased = false;
  return {
    hit: null,
    store: (given) => {
      answer = given;
      if (isReleased) turn.store(given);
    },
    giveUp: () => turn.giveUp(),
    release: () => {
      isReleased = true;
      if (answer) turn.store(answer);
    },
  };
}
