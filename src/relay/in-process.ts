import type { HeaderMap } from '../core/header-map.ts';
import { type Incoming, UpstreamFailure } from '../http/upstream.ts';
import type { Body } from './call.ts';

/** The built-in provider, seen like any other. */
export async function askInProcess(
  simulate: (request: Request) => Promise<Response>,
  {
    method,
    url,
    headers,
    body,
    signal,
  }: { method: string; url: string; headers: HeaderMap; body: Body; signal: AbortSignal },
): Promise<Incoming> {
  const response = await simulate(
    new Request(url, { method, headers: headers.toJSON(), body: body as RequestInit['body'], signal }),
  );
  const host = 'the built-in simulator';
  const failure = (kind: 'aborted' | 'broken') =>
    new UpstreamFailure({ host, phase: 'body', kind, sent: 'maybe', why: 'its answer ended early' });
  // On a socket the answer to HEAD would end with its headers.
  if (method === 'HEAD') void response.body?.cancel().catch(() => {});
  const reader = method === 'HEAD' ? undefined : response.body?.getReader();
  const read = async () => {
    try {
      return (await reader?.read())?.value ?? null;
    } catch {
      throw failure(signal.aborted ? 'aborted' : 'broken');
    }
  };
  return {
    status: response.status,
    statusText: response.statusText,
    headers: response.headers,
    read,
    bytes: async () => {
      const pieces: Uint8Array[] = [];
      for (let piece = await read(); piece !== null; piece = await read()) pieces.push(piece);
      return Buffer.concat(pieces);
    },
    cancel: () => void reader?.cancel().catch(() => {}),
  };
}
