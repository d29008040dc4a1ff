import { fail } from '../core/errors.ts';
import type { ProviderOptions } from './provider.ts';

/** What an option may look like, and how to say so. */
export interface Shape {
  readonly pattern: RegExp;
  readonly says: string;
}

/** One label of a host name or one segment of a path: the value cannot leave its place. */
export const label: Shape = {
  pattern: /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i,
  says: 'takes letters, digits and inner dashes, at most 63',
};

/** A name that may stand as one path segment. */
export const segment: Shape = {
  pattern: /^[a-z0-9](?:[a-z0-9._-]{0,126}[a-z0-9])?$/i,
  says: 'takes letters, digits and inner dots, dashes and underscores, at most 128',
};

/** Anything a header or a form field can carry. */
export const printable: Shape = {
  pattern: /^[\x20-\x7e]{1,16384}$/,
  says: 'takes printable ASCII characters on one line',
};

/** The option's text, or undefined when it is absent or empty. */
export function optional(options: ProviderOptions, name: string, shape: Shape): string | undefined {
  const value = options[name];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string' || !shape.pattern.test(value)) fail('invalid_provider_option', name, `${shape.says}.`);
  return value;
}

export function required(provider: string, options: ProviderOptions, name: string, shape: Shape): string {
  return optional(options, name, shape) ?? fail('missing_provider_option', provider, name);
}

/** One of a closed set, the first being meant when nothing is said. */
export function oneOf<Choice extends string>(
  options: ProviderOptions,
  name: string,
  choices: readonly [Choice, ...Choice[]],
): Choice {
  const value = optional(options, name, printable) ?? choices[0];
  return (
    choices.find((choice) => choice === value) ??
    fail('invalid_provider_option', name, `takes ${choices.join(', ')}; "${value.slice(0, 60)}" is none of them.`)
  );
}

/** Option values that mean the identity of the machine the gateway runs on. */
const AMBIENT = new Set(['managed', 'workload', 'workloadIdentity', 'entraFederated', 'serviceRole', 'adc']);

/** A caller who could choose the identity of the gateway's host could spend its rights, so no caller may. */
export function refuseAmbient(options: ProviderOptions, name: string): void {
  const value = options[name];
  if (typeof value === 'string' && AMBIENT.has(value)) {
    fail(
      'invalid_provider_option',
      name,
      `"${value}" would use the gateway host's own identity, which is never lent so. A virtual key asks for it with machine_identity, where the operator lends it.`,
    );
  }
}

/** An address given as a setting: http(s), no user or password, no query, no closing slash. */
export function address(name: string, value: string): string {
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    return fail('invalid_provider_option', name, 'takes a whole address such as https://models.example.com/v1.');
  }
  if (value.length > 2048) fail('invalid_provider_option', name, 'takes at most 2048 characters.');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    fail('invalid_provider_option', name, 'takes an http or https address.');
  }
  if (url.username || url.password) {
    fail('invalid_provider_option', name, 'must not contain a user or password.');
  }
  if (value.includes('?') || value.includes('#')) {
    fail('invalid_provider_option', name, 'takes an address without query or fragment.');
  }
  return url.origin + url.pathname.replace(/\/+$/, '');
}
