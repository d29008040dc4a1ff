import type { Purpose, Sealer } from './seal.ts';

/** Addresses are sealed whole where they are stored: which part of one is a secret, only its receiver knows. */
export interface AddressSealer {
  seal(id: string, url: string): string;
  /** A row that was stored before addresses were sealed holds the address itself. */
  open(row: { readonly id: string; readonly url: string }): string;
}

export function createAddressSealer(sealer: Sealer, purpose: Purpose): AddressSealer {
  // Apart from what else is sealed for the same row, so that one cannot be put in the other's place.
  const contextOf = (id: string) => `${id} url`;
  return {
    seal: (id, url) => sealer.seal(purpose, contextOf(id), url),
    open: ({ id, url }) => (/^https?:/i.test(url) ? url : sealer.open(purpose, contextOf(id), url)),
  };
}
