import { fail } from './errors.ts';
import { isSecretName } from './secret-names.ts';

export const MASKED = '***';

/**
 * What is no secret in a path or a query: one or two words, a version, a small number. Receivers hide tokens anywhere in
 * an address, under any name, so that everything else might be one.
 */
const PLAIN = /^(?:\.?[a-z]{1,16}(?:[-_.][a-z]{1,16})?|oauth2|v\d{1,3}(?:\.\d{1,3})?|\d{1,3}|)$/;
const PARTS = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$/is;

/**
 * An address as it may be shown: scheme, host and plain words as they are, everything else masked. `/token/anything` is
 * masked as `?token=anything` is. A text that is no address stays.
 *
 *     https://hooks.example.com/services/T0AB?key=abc → https://hooks.example.com/services/***?key=***
 */
export function maskedAddress(text: string): string {
  const [, scheme, authority = '', path = '', query, fragment] = PARTS.exec(text) ?? [];
  if (scheme === undefined) return text;
  return [
    scheme,
    authority.replace(/^.*@/s, `${MASKED}@`),
    path.split('/').map(maskedSegment).join('/'),
    query && `?${query.slice(1).split('&').map(maskedPair).join('&')}`,
    fragment && `#${MASKED}`,
  ].join('');
}

const maskedSegment = (segment: string, index: number, all: readonly string[]): string =>
  PLAIN.test(segment) && !(segment !== '' && isSecretName(all[index - 1] ?? '')) ? segment : MASKED;

function maskedPair(pair: string): string {
  const at = pair.indexOf('=');
  // A token may stand there without a name.
  if (at < 0) return pair === '' ? pair : MASKED;
  const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
  return PLAIN.test(value) && !(value !== '' && isSecretName(name)) ? pair : `${name}=${MASKED}`;
}

/** Throws 400 when an address was read back masked and is to be stored like that. */
export function refuseMaskedAddress(text: string | undefined, field: string): void {
  if (text?.includes(MASKED)) fail('invalid_request', field, 'is masked; send the whole address');
}

/** The address after a change. One that comes back as it was shown is still the stored one. */
export function changedAddress(given: string | undefined, stored: string, field: string): string {
  if (given === undefined || given === maskedAddress(stored)) return stored;
  refuseMaskedAddress(given, field);
  return given;
}
