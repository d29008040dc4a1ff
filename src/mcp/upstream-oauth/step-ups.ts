import type { Sealer } from '../../crypto/seal.ts';
import type { AccountHolder } from './vault.ts';

/** As far as a server's words can be a scope (RFC 6749 section 3.3). */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;
const LONGEST = 512;

/**
 * What a server has asked for beyond what its user granted. It travels sealed in the link that the user opens: no link
 * that another person wrote makes a user ask for more than a server did.
 */
export function createStepUps({ sealer }: { readonly sealer: Sealer }) {
  const contextOf = ({ serverId, userId }: AccountHolder) => `step-up ${serverId} ${userId}`;
  return {
    /** For the link; null where the server named no scope that can be asked for. */
    seal: (holder: AccountHolder, scope: string | null): string | null =>
      scope !== null && scope.length <= LONGEST && SCOPE.test(scope)
        ? sealer.seal('mcp-user-token', contextOf(holder), scope)
        : null,

    /** The scope; null where the link is of another user or server, or was not made here. */
    open(holder: AccountHolder, sealed: string | null): string | null {
      try {
        return sealed === null ? null : sealer.open('mcp-user-token', contextOf(holder), sealed);
      } catch {
        return null;
      }
    },
  };
}

export type StepUps = ReturnType<typeof createStepUps>;
