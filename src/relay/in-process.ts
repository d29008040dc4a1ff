import type { HeaderMap } from '../core/header-map.ts';
import { type Incoming, UpstreamFailure } from '../http/upstream.ts';
import type { Body } from './body.ts';

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
  const reader = response.body?.getReader();
  return {
    status: response.status,
    statusText: response.statusText,
    headers: response.headers,
    read: async () => {
      try {
        return (await reader?.read())?.value ?? null;
      } catch {
        throw failure(signal.aborted ? 'aborted' : 'broken');
      }
    },
    bytes: async () => {
      reader?.releaseLock();
      return response.bytes();
    },
    cancel: () => void reader?.cancel().catch(() => {}),
  };
}
