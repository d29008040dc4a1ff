import type { Principal } from '../core/principal.ts';
import type { NowOrLater } from '../core/runtime/now-or-later.ts';
import type { SentHeaders } from '../http/headers.ts';
import { type Authenticator, readKeys } from './authenticate.ts';
import type { MachineTokens } from './machine-tokens.ts';
import type { SessionProof, Sessions } from './sessions.ts';

export interface CallersDeps {
  readonly authenticator: Authenticator;
  readonly sessions: Pick<Sessions, 'identify' | 'sessionToken'>;
  readonly machineTokens: Pick<MachineTokens, 'takes' | 'identify'>;
}

/** Finds out who sent a request: by a key, by a token in its place, or by the cookie of a signed-in user. */
export function createCallers({ authenticator, sessions, machineTokens }: CallersDeps) {
  const byToken = async (token: string): Promise<Principal> =>
    (await machineTokens.takes(token)) ? machineTokens.identify(token) : authenticator.authenticate(token);
  return {
    /** Answers at once when the caller is known by a key. Throws 401. */
    identify(headers: SentHeaders, proof: SessionProof): NowOrLater<Principal> {
      const { gatewayKey } = readKeys(headers);
      if (gatewayKey !== null)
        return gatewayKey.includes('.') ? byToken(gatewayKey) : authenticator.authenticate(gatewayKey);
      const token = headers.cookie === undefined ? null : sessions.sessionToken(headers);
      return token === null ? authenticator.authenticate(null) : sessions.identify(token, headers, proof);
    },
  };
}

export type Callers = ReturnType<typeof createCallers>;
