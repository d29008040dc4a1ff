import { GatewayError } from '../../core/errors.ts';
import type { Changes } from '../../storage/changes.ts';

/** An answer that goes on. */
export interface OpenStream {
  /** Throws when the listening client would not be let in any more. */
  readonly again: () => Promise<void>;
  readonly cut: () => void;
}

export interface OpenStreams {
  /** Cuts the stream when its listener loses the right to it. Answers how to end that. */
  watch(stream: OpenStream): () => void;
  readonly size: number;
}

/** Changes often come in groups, and after each change every stream is checked. */
const PAUSE_MS = 100;

/** The streams of this node, which may be open for days: a user, a key or a server that goes takes theirs along. */
export function createOpenStreams({ changes }: { readonly changes: Pick<Changes, 'subscribe'> }): OpenStreams {
  const open = new Set<OpenStream>();
  let isLooking = false;
  let isDue = false;

  const look = async () => {
    isLooking = true;
    while (isDue) {
      await Bun.sleep(PAUSE_MS);
      isDue = false;
      for (const stream of [...open]) if (open.has(stream) && (await hasLost(stream))) stream.cut();
    }
    isLooking = false;
  };
  for (const topic of ['keys', 'users', 'mcp-servers', 'mcp-tokens'] as const)
    changes.subscribe(topic, () => {
      isDue = open.size > 0;
      if (isDue && !isLooking) void look();
    });

  return {
    get size() {
      return open.size;
    },
    watch: (stream) => {
      open.add(stream);
      return () => void open.delete(stream);
    },
  };
}

/** While the store is away, it is not known that a listener has lost its right, so no stream is cut. */
async function hasLost({ again }: OpenStream): Promise<boolean> {
  try {
    await again();
    return false;
  } catch (error) {
    return error instanceof GatewayError && error.status >= 400 && error.status < 500;
  }
}
