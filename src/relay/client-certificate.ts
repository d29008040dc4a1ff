import { fail } from '../core/errors.ts';
import { type ClientTls, readClientTls, TlsFault } from '../http/client-tls.ts';
import type { Target } from './target.ts';

/** Members of `configurations`: certificates and a key in PEM. */
export const TLS_OPTIONS = {
  certificate: 'tls_certificate',
  privateKey: 'tls_private_key',
  authorities: 'tls_authorities',
};

type Configurations = Readonly<Record<string, unknown>>;

/** The client certificate and the authorities of a virtual key. Null: it has neither. */
export function clientTlsOf(configurations: Configurations): ClientTls | null {
  const textOf = (name: string): string | null => {
    const value = configurations[name];
    if (value === undefined || value === null || value === '') return null;
    return typeof value === 'string' ? value : fail('invalid_request', `configurations.${name}`, 'give a text in PEM');
  };
  try {
    return readClientTls({
      certificate: textOf(TLS_OPTIONS.certificate),
      privateKey: textOf(TLS_OPTIONS.privateKey),
      authorities: textOf(TLS_OPTIONS.authorities),
    });
  } catch (error) {
    if (!(error instanceof TlsFault)) throw error;
    return fail('invalid_request', `configurations.${TLS_OPTIONS[error.part]}`, error.message);
  }
}

/** Refuses what no server would accept, when it is saved. */
export function checkClientTls(
  configurations: Configurations,
  url: string,
  { inProcess, now }: { inProcess: boolean; now: number },
) {
  const tls = clientTlsOf(configurations);
  if (tls === null) return;
  const first = Object.values(TLS_OPTIONS).find((name) => configurations[name] !== undefined)!;
  if (inProcess || !url.startsWith('https://'))
    fail('invalid_request', `configurations.${first}`, 'is of use only where the provider is called over https');
  if (tls.expiresAt !== null && tls.expiresAt <= now)
    fail(
      'invalid_request',
      `configurations.${TLS_OPTIONS.certificate}`,
      `expired at ${new Date(tls.expiresAt).toISOString()}; give one that is valid`,
    );
}

/** What the connections of a target are made with. Refuses a certificate that has ended since it was stored. */
export function tlsFor({ tls, virtualKey }: Target, now: number): ClientTls | undefined {
  if (tls && tls.expiresAt !== null && tls.expiresAt <= now)
    fail('expired_client_certificate', virtualKey ?? '', new Date(tls.expiresAt).toISOString());
  return tls;
}
