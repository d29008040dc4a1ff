import { expect, test } from 'bun:test';
import { GatewayError } from '../core/errors.ts';
import type { Incoming, Upstream } from '../http/upstream.ts';
import { fetchMedia } from './remote-media.ts';

/** Hosts that answer with files of this size. */
function hostsOf(bytes: number) {
  let cancelled = 0;
  const upstream: Upstream = {
    open: 0,
    send: async (): Promise<Incoming> => {
      let left = bytes;
      return {
        status: 200,
        statusText: 'OK',
        headers: new Headers({ 'content-type': 'image/png' }),
        read: async () => {
          const piece = new Uint8Array(Math.min(left, 1 << 20));
          left -= piece.byteLength;
          return piece.byteLength > 0 ? piece : null;
        },
        bytes: () => Promise.reject(new Error('read in pieces')),
        cancel: () => void cancelled++,
      };
    },
  };
  return {
    upstream,
    get cancelled() {
      return cancelled;
    },
  };
}

const wanted = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    path: `messages[0].content[${index}]`,
    url: `https://files.example/${index}`,
    kind: 'image' as const,
  }));
const { signal } = new AbortController();

test('files that fit are fetched', async () => {
  const files = await fetchMedia(wanted(20), { upstream: hostsOf(1 << 20).upstream, signal });
  expect(files.get('https://files.example/19')?.mime).toBe('image/png');
});

test('files that fit one by one and not together are refused', async () => {
  const hosts = hostsOf(19 << 20);
  const failure = await fetchMedia(wanted(20), { upstream: hosts.upstream, signal }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(GatewayError);
  expect((failure as GatewayError).message).toContain('the files of a call have over 67108864 bytes');
  expect(hosts.cancelled).toBeGreaterThan(0);
});
