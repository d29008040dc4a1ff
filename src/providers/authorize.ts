import { fail } from '../core/errors.ts';
import { optional, printable } from './options.ts';
import type { Authorization, Authorize } from './provider.ts';

/** The credential as text, or `missing_credential`. Surrounding white space is a pasting accident, never part of it. */
export function reveal(call: Authorization): string {
  return call.credential?.reveal().trim() || fail('missing_credential', call.provider);
}

/** Sets a header from a secret; a value no header can carry is refused without being shown. */
export function setSecret(call: Authorization, name: string, value: string): void {
  if (!/^[\x20-\x7e]+$/.test(value)) {
    fail('invalid_header', name, `the credential of ${call.provider} has characters that a header cannot carry.`);
  }
  call.headers.set(name, value);
}

/** The credential in a header of the provider's choosing. */
export const header =
  (name: string, prefix = ''): Authorize =>
  (call) =>
    setSecret(call, name, prefix + reveal(call));

export const bearer: Authorize = header('authorization', 'Bearer ');

/** For servers people run themselves: a key where there is one, none where there is none. */
export const optionally =
  (authorize: Authorize): Authorize =>
  (call) =>
    call.credential?.reveal().trim() ? authorize(call) : undefined;

export const none: Authorize = () => {};

/** Also sends options as headers: `{ 'openai-project': 'openai_project' }`. */
export const withOptionHeaders =
  (authorize: Authorize, names: Readonly<Record<string, string>>): Authorize =>
  (call) => {
    for (const name in names) {
      const value = optional(call.options, names[name]!, printable);
      if (value !== undefined) call.headers.set(name, value);
    }
    return authorize(call);
  };
