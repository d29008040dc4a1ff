import { serve } from '../gateway.ts';

/**
 * A door in front of the gateway that adds a key to every request, for clients that cannot. It changes nothing else:
 * Host and Origin arrive as they were sent.
 */
export function startKeyShim(gatewayUrl: string, key: string): { url: string; stop(): void } {
  const { origin, stop } = serve((request) => {
    const { pathname, search } = new URL(request.url);
    const headers = new Headers(request.headers);
    headers.set('x-gateway-api-key', key);
    return fetch(`${gatewayUrl}${pathname}${search}`, {
      method: request.method,
      headers,
      body: request.body,
      signal: request.signal,
      redirect: 'manual',
      // Bun's own: a stream may be silent for as long as it likes.
      timeout: false,
    } as RequestInit);
  });
  return { url: origin, stop };
}
