import { fail } from '../core/errors.ts';
import type { CallName } from '../dialects/lost-thoughts.ts';
import type { FetchedFile, NeedsFetch } from '../dialects/remote-media.ts';
import { receivedHeaders, type Timeouts, type Upstream, UpstreamFailure } from '../http/upstream.ts';
import { KEPT_BELOW } from './body.ts';

/** Thrown by a translation that needs files which the provider will not fetch itself. */
export class MediaWanted extends Error {
  readonly wanted: readonly NeedsFetch[];
  /** What else the translation lacks: thoughts before these calls. */
  readonly bareCalls: readonly CallName[];

  constructor(wanted: readonly NeedsFetch[], bareCalls: readonly CallName[]) {
    super('files have to be fetched first');
    this.name = 'MediaWanted';
    this.wanted = wanted;
    this.bareCalls = bareCalls;
  }
}

const LARGEST = 20 << 20;
/** Of one call, together: as much as a body that must be kept may have. */
const LARGEST_IN_ALL = KEPT_BELOW;
const MOST_FILES = 20;
const TIMEOUTS: Timeouts = { connectMs: 5_000, firstByteMs: 10_000, idleMs: 10_000, totalMs: 30_000 };

export interface FetchDeps {
  readonly upstream: Upstream;
}

/** The files behind the addresses, under the egress policy. Without one of them the call cannot be made. */
export async function fetchMedia(
  wanted: readonly NeedsFetch[],
  { upstream, signal }: FetchDeps & { signal: AbortSignal },
): Promise<ReadonlyMap<string, FetchedFile>> {
  const byUrl = new Map(wanted.map((each) => [each.url, each]));
  if (byUrl.size > MOST_FILES)
    fail('media_unreachable', wanted[MOST_FILES]!.path, `the gateway fetches at most ${MOST_FILES} files for a call`);
  const room = { left: LARGEST_IN_ALL };
  const files = await Promise.all([...byUrl.values()].map((each) => fetchOne(each, { upstream, signal, room })));
  return new Map([...byUrl.keys()].map((url, index) => [url, files[index]!]));
}

interface Fetching {
  readonly upstream: Upstream;
  readonly signal: AbortSignal;
  /** What all files of the call may still take. */
  readonly room: { left: number };
}

async function fetchOne({ url, path }: NeedsFetch, { upstream, signal, room }: Fetching): Promise<FetchedFile> {
  try {
    const headers = new Headers({ accept: '*/*', 'accept-encoding': 'identity' });
    const incoming = await upstream.send({ method: 'GET', url, headers, body: null, signal, timeouts: TIMEOUTS });
    if (incoming.status !== 200) {
      incoming.cancel();
      return fail('media_unreachable', path, `its host answered ${incoming.status}`);
    }
    const pieces: Uint8Array[] = [];
    let size = 0;
    for (let piece = await incoming.read(); piece; piece = await incoming.read()) {
      size += piece.byteLength;
      room.left -= piece.byteLength;
      if (size > LARGEST || room.left < 0) {
        incoming.cancel();
        const why = size > LARGEST ? `it is larger than ${LARGEST}` : `the files of a call have over ${LARGEST_IN_ALL}`;
        return fail('media_unreachable', path, `${why} bytes`);
      }
      pieces.push(piece);
    }
    const mime = (receivedHeaders(incoming)['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
    return { mime, data: Buffer.concat(pieces).toString('base64') };
  } catch (error) {
    if (!(error instanceof UpstreamFailure) || error.kind === 'aborted') throw error;
    return fail('media_unreachable', path, error.message);
  }
}
