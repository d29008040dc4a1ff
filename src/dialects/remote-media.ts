import type { Encoded } from './dialect.ts';
import type { MediaKind, MediaPart, ModelRequest, Part } from './ir.ts';

/** A file that a provider will not fetch itself. */
export interface NeedsFetch {
  /** Where it stands, in the client's words where they are known. */
  readonly path: string;
  readonly url: string;
  readonly kind: MediaKind;
}

/**
 * A body in which files are missing that the dialect takes only as data. Each is also in `dropped` as something that
 * matters: a caller that cannot fetch refuses the call, one that can fetches, and encodes again.
 *
 * ```ts
 * const encoded = converse.outbound.encodeRequest(request);
 * const wanted = needsFetch(encoded);
 * if (wanted.length > 0) return converse.outbound.encodeRequest(withFetched(request, await fetchAll(wanted)));
 * ```
 */
export interface EncodedWithFetches<Body extends object = object> extends Encoded<Body> {
  readonly needsFetch: readonly NeedsFetch[];
}

export const needsFetch = (encoded: Encoded): readonly NeedsFetch[] =>
  (encoded as Partial<EncodedWithFetches>).needsFetch ?? [];

export interface FetchedFile {
  readonly mime: string;
  /** Base64. */
  readonly data: string;
}

/** The request with files in the place of their addresses. What the client says about a type counts more than the server. */
export function withFetched(request: ModelRequest, files: ReadonlyMap<string, FetchedFile>): ModelRequest {
  const whole = (part: MediaPart): MediaPart => {
    const file = part.source.type === 'url' ? files.get(part.source.url) : undefined;
    return file ? { ...part, source: { type: 'data', data: file.data }, mime: part.mime ?? file.mime } : part;
  };
  const replaced = (part: Part): Part => {
    if (part.type === 'media') return whole(part);
    if (part.type !== 'tool-result') return part;
    return { ...part, parts: part.parts.map((inner) => (inner.type === 'media' ? whole(inner) : inner)) };
  };
  return { ...request, turns: request.turns.map((turn) => ({ ...turn, parts: turn.parts.map(replaced) })) };
}
