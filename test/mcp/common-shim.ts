import { serve } from '../gateway.ts';

type Json = Record<string, unknown>;

/**
 * A door to the address of all servers for a client that knows one of them by its own names: what it asks for gets the
 * name it has there, and what comes back loses it again. It adds a key, and changes nothing else.
 */
export function startCommonShim(gatewayUrl: string, key: string, slug: string): { url: string; stop(): void } {
  const name = (text: unknown) => (typeof text === 'string' ? `${slug}__${text}` : text);
  const uri = (text: unknown) => (typeof text === 'string' ? `mcp://${slug}/${text}` : text);
  const plain = (text: string) => text.replaceAll(`${slug}__`, '').replaceAll(`mcp://${slug}/`, '');

  const renamed = (text: string): string => {
    const message = JSON.parse(text) as { method?: string; params?: Json };
    const { method = '', params } = message;
    if (!params) return text;
    if (method === 'tools/call' || method === 'prompts/get') params.name = name(params.name);
    if (method.startsWith('resources/') && 'uri' in params) params.uri = uri(params.uri);
    const ref = params.ref as Json | undefined;
    if (ref?.name !== undefined) ref.name = name(ref.name);
    if (ref?.uri !== undefined) ref.uri = uri(ref.uri);
    return JSON.stringify(message);
  };

  const { origin, stop } = serve(async (request) => {
    const headers = new Headers(request.headers);
    headers.set('x-gateway-api-key', key);
    const mirrored = headers.get('mcp-name');
    if (mirrored !== null)
      headers.set('mcp-name', String(headers.get('mcp-method') === 'resources/read' ? uri(mirrored) : name(mirrored)));
    headers.delete('content-length');
    const sent = request.method === 'POST' ? await request.text() : null;
    const body = sent && attempt(() => renamed(sent), sent);
    const answer = await fetch(`${gatewayUrl}/mcp`, {
      method: request.method,
      headers,
      body,
      signal: request.signal,
      redirect: 'manual',
      // Bun's own: a stream may be silent for as long as it likes.
      timeout: false,
    } as RequestInit);
    const returned = new Headers(answer.headers);
    returned.delete('content-length');
    const init = { status: answer.status, headers: returned };
    if (!answer.headers.get('content-type')?.startsWith('text/event-stream'))
      return new Response(answer.body && plain(await answer.text()), init);
    return new Response(answer.body!.pipeThrough(lineByLine(plain)), init);
  });
  return { url: `${origin}/mcp`, stop };
}

function attempt(work: () => string, otherwise: string): string {
  try {
    return work();
  } catch {
    return otherwise;
  }
}

function lineByLine(change: (text: string) => string): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  let rest = '';
  return new TransformStream({
    transform(piece, controller) {
      rest += decoder.decode(piece, { stream: true });
      const end = rest.lastIndexOf('\n') + 1;
      if (end > 0) controller.enqueue(Buffer.from(change(rest.slice(0, end))));
      rest = rest.slice(end);
    },
    flush: (controller) => controller.enqueue(Buffer.from(change(rest))),
  });
}
