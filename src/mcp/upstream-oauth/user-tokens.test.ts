import { describe, expect, test } from 'bun:test';
import { GatewayError } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Caller } from '../caller/caller.ts';
import type { McpServer } from '../server/server.ts';
import type { Grant } from './grant.ts';
import { createUserTokens } from './user-tokens.ts';
import type { StoredGrant } from './vault.ts';

const url = 'https://notes.example/mcp';
const server = { id: 's', slug: 'notes', url } as McpServer;
const caller = { userId: 'u' as UserId } as Caller;
const HOUR = 3_600_000;

const grantOf = (over: Partial<Grant> = {}): Grant => ({
  url,
  accessToken: 'old',
  refreshToken: 'refresh',
  issuedAt: 0,
  expiresAt: HOUR,
  scope: null,
  issuer: null,
  tokenEndpoint: 'https://issuer.example/token',
  revocationEndpoint: null,
  resource: null,
  audience: null,
  client: { id: 'c', secret: null, method: 'none' },
  ...over,
});
const keptOf = (grant: Grant): StoredGrant => ({ grant, sealed: 'sealed', connectedAt: 0 });

/** What becomes of a call at that moment. */
function tokensAt(now: number, grant: Grant | null, renewed: Grant | null | Error = grantOf({ accessToken: 'new' })) {
  let renewals = 0;
  const tokens = createUserTokens({
    discovery: { forget: () => {} },
    stepUps: { seal: (_, scope) => scope },
    vault: { find: async () => grant && keptOf(grant) },
    renew: async () => {
      renewals++;
      if (renewed instanceof Error) throw renewed;
      return renewed && keptOf(renewed);
    },
    publicUrl: () => 'https://gateway.example',
    now: () => now,
  });
  return {
    outcome: () => tokens.authorizationFor(server, caller).catch((error: GatewayError) => error.code),
    renewals: () => renewals,
    tokens,
  };
}
const away = new GatewayError('mcp_upstream_oauth_failed', ['notes', 'away']);

describe('a token', () => {
  const cases: [string, number, Grant | null, Grant | null | Error, string, number][] = [
    ['that is fresh serves', HOUR / 2, grantOf(), null, 'Bearer old', 0],
    ['is renewed a minute before its end', HOUR - 59_000, grantOf(), grantOf({ accessToken: 'new' }), 'Bearer new', 1],
    ['is not renewed sooner', HOUR - 61_000, grantOf(), null, 'Bearer old', 0],
    ['of a short life is renewed in its last tenth', 9_001, grantOf({ expiresAt: 10_000 }), grantOf(), 'Bearer old', 1],
    ['and not before', 8_999, grantOf({ expiresAt: 10_000 }), null, 'Bearer old', 0],
    ['serves to its end while it cannot be renewed', HOUR - 1, grantOf(), away, 'Bearer old', 1],
    ['that is over and cannot be renewed fails', HOUR, grantOf(), away, 'mcp_upstream_oauth_failed', 1],
    ['that is over for the issuer, too, is to be got anew', HOUR, grantOf(), null, 'mcp_connection_required', 1],
    ['without renewal serves to its end', HOUR - 1, grantOf({ refreshToken: null }), null, 'Bearer old', 0],
    [
      'without renewal is then to be got anew',
      HOUR,
      grantOf({ refreshToken: null }),
      null,
      'mcp_connection_required',
      0,
    ],
    ['without an end serves for ever', 1e15, grantOf({ expiresAt: null }), null, 'Bearer old', 0],
    ['for another address is none', 0, grantOf({ url: `${url}/elsewhere` }), null, 'mcp_connection_required', 0],
    ['that is not there is to be got', 0, null, null, 'mcp_connection_required', 0],
  ];
  for (const [what, now, grant, renewed, expected, renewals] of cases)
    test(what, async () => {
      const at = tokensAt(now, grant, renewed);
      expect(await at.outcome()).toBe(expected);
      expect(at.renewals()).toBe(renewals);
    });

  test('that was refused is renewed, unless somebody has done so since', async () => {
    const at = tokensAt(0, grantOf());
    expect(await at.tokens.renewed(server, caller, 'Bearer old')).toBe('Bearer new');
    expect(await at.tokens.renewed(server, caller, 'Bearer older')).toBe('Bearer old');
    expect(at.renewals()).toBe(1);
  });

  test('is for users alone', async () => {
    const { tokens } = tokensAt(0, grantOf());
    const nobody = { userId: null } as Caller;
    expect(tokens.authorizationFor(server, nobody)).rejects.toThrow('no user of the gateway');
  });
});

test("a refusal for want of a scope names it and the link; any other 403 is the server's own business", () => {
  const { tokens } = tokensAt(0, grantOf());
  const refuse = (status: number, challenge: string | null) => () =>
    tokens.refused(server, caller, { status, challenge });
  expect(refuse(403, 'Bearer error="insufficient_scope", scope="notes:write"')).toThrow(
    '/connect/notes?more=notes:write',
  );
  expect(refuse(403, 'Bearer error="insufficient_scope", scope="<b>"')).toThrow('more than you granted. Open');
  expect(refuse(401, null)).toThrow('https://gateway.example/connect/notes');
  expect(refuse(403, null)).not.toThrow();
});
