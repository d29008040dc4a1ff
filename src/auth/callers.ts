import type { Principal } from '../core/principal.ts';
import type { SentHeaders } from '../http/headers.ts';
import { type Authenticator, readKeys } from './authenticate.ts';

/** Finds out who sent a request, whichever way they say it. */
export function createCallers({ authenticator }: { authenticator: Authenticator }) {
  return {
    /** Answers at once when the caller is in the cache. Throws 401. */
    identify(headers: SentHeaders): Principal | Promise<Principal> {
      return authenticator.authenticate(readKeys(headers).gatewayKey);
    },
  };
}

export type Callers = ReturnType<typeof createCallers>;
