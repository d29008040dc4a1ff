import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createDatabase } from '../../../test/postgres.ts';
import type { GatewayError } from '../../core/errors.ts';
import { createHealth } from '../../core/health.ts';
import { newId } from '../../core/ids.ts';
import { createSealer, sha256 } from '../../crypto/seal.ts';
import { type Changes, createChanges } from '../../storage/changes.ts';
import { openPostgres, openSqlite, type Store } from '../../storage/store.ts';
import type { Permission } from './grant-rows.ts';
import { createGrants, REPEAT_MS } from './grants.ts';

const SECOND = 1_000;
const DAY = 86_400_000;
const VERIFIER = 'a'.repeat(43);
const CHALLENGE = Buffer.from(sha256(VERIFIER), 'hex').toString('base64url');
const sealer = createSealer(Buffer.alloc(32, 7));

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`grants on ${engine}`, () => {
    let store: Store;
    let at = 1_800_000_000_000;
    let changes: Changes;
    /** How often this node has heard that tokens ended. */
    let heard = 0;
    const place = { organisation: newId<string>(), workspace: newId<string>() };
    let userId: string;
    const make = () =>
      createGrants({
        store,
        changes,
        sealer,
        tokenSeconds: 3_600,
        refreshDays: 30,
        now: () => at,
      });
    let grants: ReturnType<typeof make>;

    beforeAll(async () => {
      store = engine === 'sqlite' ? openSqlite(':memory:') : await openPostgres(await createDatabase());
      await store.migrate();
      changes = createChanges({ store, databaseUrl: null, health: createHealth({ now: Date.now }) });
      changes.subscribe('mcp-tokens', () => heard++);
      const times = { created_at: at, updated_at: at };
      await store.db
        .insertInto('organisations')
        .values({ id: place.organisation, name: 'Test', created_at: at })
        .execute();
      await store.db
        .insertInto('workspaces')
        .values({
          ...{ id: place.workspace, organisation_id: place.organisation, slug: 'default', name: 'Default' },
          ...{ description: null, defaults: '{}', rate_limits: null, usage_limits: null, ...times },
        })
        .execute();
      grants = make();
    });
    afterAll(async () => {
      await changes.close();
      await store.close();
    });
    beforeEach(async () => {
      userId = newId();
      await store.db
        .insertInto('users')
        .values({
          ...{ id: userId, organisation_id: place.organisation, email: `${userId}@example.com`, role: 'owner' },
          ...{ username: null, first_name: null, last_name: null, password_hash: null, external_id: null },
          ...{ created_at: at, updated_at: at },
        })
        .execute();
    });

    const permission = (over: Partial<Permission> = {}): Permission => ({
      userId,
      workspaceId: place.workspace,
      serverId: null,
      client: { id: 'client', name: 'Client', isRenewable: true },
      resource: 'https://gateway.example/weather/mcp',
      scope: 'mcp',
      redirectUri: 'https://app.example/callback',
      challenge: CHALLENGE,
      isRemembered: true,
      ...over,
    });
    const redeem = (code: string) =>
      grants.redeem({
        code,
        clientId: 'client',
        redirectUri: 'https://app.example/callback',
        verifier: VERIFIER,
        resource: null,
      });
    const refresh = (token: string) => grants.refresh({ token, clientId: 'client', resource: null });
    const refused = (work: Promise<unknown>): Promise<string> =>
      work.then(
        () => 'not refused',
        (error: GatewayError) => error.message,
      );
    const countOf = async (table: 'mcp_grants' | 'mcp_access_tokens' | 'mcp_codes') =>
      Number(
        (await store.db.selectFrom(table).select(store.db.fn.countAll().as('count')).executeTakeFirstOrThrow()).count,
      );
    const begun = async (over?: Partial<Permission>) => redeem(await grants.begin(permission(over)));

    test('a code lives for a minute', async () => {
      const late = await grants.begin(permission());
      const early = await grants.begin(permission());
      at += 59 * SECOND;
      await redeem(early);
      at += 2 * SECOND;
      expect(await refused(redeem(late))).toContain('expired');
    });

    test('a lost answer is given again within the window, and not after it', async () => {
      const first = await begun();
      const second = await refresh(first.refreshToken!);
      at += REPEAT_MS;
      expect(await refresh(first.refreshToken!)).toEqual(second);
      const before = heard;
      at += SECOND;
      expect(await refused(refresh(first.refreshToken!))).toContain('used before');
      expect(heard).toBe(before + 1);
      expect(await refused(refresh(second.refreshToken!))).toContain('unknown or revoked');
    });

    test('once the new token was used, the old one is a replay even within the window', async () => {
      const first = await begun();
      const second = await refresh(first.refreshToken!);
      const third = await refresh(second.refreshToken!);
      expect(await refused(refresh(first.refreshToken!))).toContain('used before');
      expect(await refused(refresh(third.refreshToken!))).toContain('unknown or revoked');
    });

    test('a client that stays away too long must ask again; one that comes is given more time', async () => {
      const { refreshToken } = await begun();
      at += 29 * DAY;
      const renewed = await refresh(refreshToken!);
      at += 29 * DAY;
      const again = await refresh(renewed.refreshToken!);
      at += 31 * DAY;
      expect(await refused(refresh(again.refreshToken!))).toContain('expired');
    });

    test('a client that cannot renew gets no token for it, and the grant ends with the access token', async () => {
      const { refreshToken, expiresAt } = await begun({ client: { id: 'client', name: 'Client', isRenewable: false } });
      expect(refreshToken).toBeNull();
      expect(expiresAt).toBe(at + 3_600 * SECOND);
    });

    test('a token of another installation is nothing here', async () => {
      const { refreshToken } = await begun();
      const other = createGrants({
        store,
        changes,
        sealer: createSealer(Buffer.alloc(32, 8)),
        tokenSeconds: 3_600,
        refreshDays: 30,
        now: () => at,
      });
      const asked = { token: refreshToken!, clientId: 'client', resource: null };
      expect(await refused(other.refresh(asked))).toContain('unknown or revoked');
      expect((await refresh(refreshToken!)).accessToken).toStartWith('gwt_');
    });

    test('what was allowed is remembered for the same address alone', async () => {
      await begun();
      const { challenge: _, workspaceId: __, serverId: ___, isRemembered: ____, ...asked } = permission();
      expect(await grants.remembered(asked)).toBe(place.workspace);
      expect(await grants.remembered({ ...asked, redirectUri: 'https://app.example/other' })).toBeNull();
      expect(await grants.remembered({ ...asked, client: { ...asked.client, id: 'other' } })).toBeNull();
    });

    test('what has expired is swept when something new is stored', async () => {
      for (let each = 0; each < 5; each++) await grants.begin(permission());
      await begun();
      at += 40 * DAY;
      await grants.begin(permission());
      expect([await countOf('mcp_grants'), await countOf('mcp_access_tokens'), await countOf('mcp_codes')]).toEqual([
        1, 0, 1,
      ]);
    });

    test('many at once sweep and renew without waiting for each other in a circle', async () => {
      for (let each = 0; each < 40; each++) await grants.begin(permission());
      const tokens = await Promise.all(Array.from({ length: 10 }, () => begun()));
      at += 61 * SECOND;
      const renewed = await Promise.all(tokens.map(({ refreshToken }) => refresh(refreshToken!)));
      expect(new Set(renewed.map(({ accessToken }) => accessToken)).size).toBe(10);
    });

    test('with its user everything goes', async () => {
      const { refreshToken } = await begun();
      await store.db.deleteFrom('users').where('id', '=', userId).execute();
      expect(await refused(refresh(refreshToken!))).toContain('unknown or revoked');
    });
  });
}
