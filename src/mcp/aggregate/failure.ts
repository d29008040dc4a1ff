import { GatewayError } from '../../core/errors.ts';
import { UpstreamFailure } from '../../http/upstream.ts';
import { RpcError, type RpcId } from '../message/rpc-error.ts';
import { RpcRefusal, ServerTooSlow, UnusableReply } from './conversation.ts';

/** What went wrong with one server, as its client is told. What is not the server's fault stays as it is. */
export function failureOf(error: unknown, slug: string, id: RpcId): unknown {
  if (error instanceof ServerTooSlow)
    return new GatewayError('upstream_timeout', [`MCP server ${slug}`, 'its start', error.ms]);
  if (error instanceof UnusableReply) return new GatewayError('mcp_upstream_failed', [slug, error.status]);
  if (error instanceof RpcRefusal) {
    const inner = new GatewayError('mcp_session_refused', [slug, error.message.slice(0, 256)]);
    return new RpcError(inner, {
      id,
      code: error.code,
      ...(Object.keys(error.data).length > 0 && { data: error.data }),
    });
  }
  return error;
}

/** Resolves like the promise, or fails after that time; what was begun goes on. */
export async function within<Value>(work: Promise<Value>, ms: number, slug: string): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ServerTooSlow(slug, ms)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A server that does not answer at this moment may do so at the next. */
export const isAway = (error: unknown): boolean =>
  error instanceof ServerTooSlow ||
  error instanceof UpstreamFailure ||
  (error instanceof UnusableReply && error.status >= 500) ||
  (error instanceof GatewayError && (error.status === 429 || error.status >= 500));
