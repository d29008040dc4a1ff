import { BoundedMap } from '../core/bounded-map.ts';
import { upstreamUrl } from './address.ts';
import type { Provider, ProviderOptions } from './provider.ts';

interface Server {
  readonly provider: Provider;
  readonly options: ProviderOptions;
  readonly customHost: string | null;
}

interface Place {
  readonly path: string;
  readonly search: string;
}

/** Addresses and models that have refused to be asked for the usage of a stream, and until when that is believed. */
const refusing = new BoundedMap<string, number>(1_000);
/** A server may be replaced by a newer one. */
const BELIEVED_MS = 3_600_000;

/** What `refusesStreamOptions` says of a provider in advance, a server may show by its answer. */
export const hasRefusedStreamOptions = (server: Server, model: string | null, place: Place): boolean =>
  refusing.size > 0 && (refusing.get(keyOf(server, model, place)) ?? 0) > Date.now();

export const learnRefusedStreamOptions = (server: Server, model: string | null, place: Place): void =>
  void refusing.set(keyOf(server, model, place), Date.now() + BELIEVED_MS);

const keyOf = ({ provider, options, customHost }: Server, model: string | null, { path, search }: Place): string =>
  `${upstreamUrl(provider, options, customHost, path, search)} ${model}`;
