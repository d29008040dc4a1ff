import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { everythingIn, watchedStore } from '../../../test/faulty-store.ts';
import { createDatabase } from '../../../test/postgres.ts';
import type { GatewayError } from '../../core/errors.ts';
import { createHealth } from '../../core/health.ts';
import { newId } from '../../core/ids.ts';
import { createSealer, sha256 } from '../../crypto/seal.ts';
import { type Changes, createChanges } from '../../storage/changes.ts';
import { openPostgres, openSqlite, type Store } from '../../storage/store.ts';
import { createSignInLimits } from '../sign-in-limits.ts';
import { createDeviceCodes } from './device-codes.ts';
import { createLogins } from './logins.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;
const RULE = {
  most: 5,
  scopes: ['completions.write'],
  models: null,
  max_days: 90,
  rate_limits: null,
  usage_limits: null,
};

describe.each(['sqlite', 'postgres'] as const)('logins on %s', (engine) => {
  let store: Store;
  let changes: Changes;
  let at = 1_800_000_000_000;
  const now = () => at;
  const place = { organisation: newId<string>(), workspace: newId<string>(), user: newId<string>() };
  const sealer = createSealer(Buffer.alloc(32, 7));
  /** On a store that may fail. */
  const over = (some: Store) => {
    const codes = createDeviceCodes({ store: some, limits: createSignInLimits({ store: some, now }), now });
    const logins = createLogins({ store: some, changes, sealer, codes, tokenSeconds: 3_600, refreshDays: 30, now });
    return { codes, logins };
  };

  beforeAll(async () => {
    store = engine === 'sqlite' ? openSqlite(':memory:') : await openPostgres(await createDatabase());
    await store.migrate();
    changes = createChanges({ store, databaseUrl: null, health: createHealth({ now: Date.now }) });
    const times = { created_at: at, updated_at: at };
    const { organisation: organisation_id, workspace: id, user } = place;
    await store.db.insertInto('organisations').values({ id: organisation_id, name: 'Test', created_at: at }).execute();
    await store.db
      .insertInto('workspaces')
      .values({
        ...{ id, organisation_id, slug: 'default', name: 'Default', description: null, defaults: '{}', ...times },
        ...{ rate_limits: null, usage_limits: null, member_keys: JSON.stringify(RULE) },
      })
      .execute();
    await store.db
      .insertInto('users')
      .values({
        ...{ id: user, organisation_id, email: 'ada@example.com', role: 'owner', ...times },
        ...{ username: null, first_name: null, last_name: null, password_hash: null, external_id: null },
      })
      .execute();
  });
  afterAll(async () => {
    await changes.close();
    await store.close();
  });

  const begun = async () => {
    const { deviceCode } = await over(store).codes.begin('test');
    const { user: userId, workspace: workspaceId } = place;
    return { deviceCode, choice: { codeHash: sha256(deviceCode), clientName: 'test', userId, workspaceId } };
  };
  const login = async () => {
    const { deviceCode, choice } = await begun();
    await over(store).logins.allow(choice, {});
    return over(store).logins.redeem(deviceCode, 'test');
  };
  const refused = (asked: Promise<unknown>) =>
    asked.then(
      () => 'nothing',
      (error: GatewayError) => `${error.code}: ${error.message}`,
    );

  /** Dies at each statement, one after the other; what was there before must be there after. Answers how often it died. */
  const diesEverywhere = async (work: (logins: ReturnType<typeof over>['logins']) => Promise<unknown>) => {
    const before = await everythingIn(store);
    for (let last = 1; ; last++) {
      let isDead = false;
      const dying = watchedStore(store, (moment, statement) => {
        if (moment !== 'after' || statement < last) return;
        isDead = true;
        throw new Error('killed');
      });
      const outcome = await work(over(dying).logins).catch((error: Error) => error.message);
      if (!isDead) return { deaths: last - 1, outcome };
      expect([outcome, await everythingIn(store)]).toEqual(['killed', before]);
    }
  };

  test('what dies on the way has done nothing, and is done once when it is asked for again', async () => {
    const { deviceCode, choice } = await begun();
    const allowed = await diesEverywhere((logins) => logins.allow(choice, {}));
    expect(allowed.deaths).toBeGreaterThan(5);
    const redeemed = await diesEverywhere((logins) => logins.redeem(deviceCode, 'test'));
    expect(redeemed.deaths).toBeGreaterThan(4);
    const { refreshToken } = redeemed.outcome as { refreshToken: string };
    const refreshed = await diesEverywhere((logins) => logins.refresh(refreshToken));
    expect(refreshed.deaths).toBeGreaterThan(3);
    expect(await store.db.selectFrom('login_grants').select('generation').execute()).toEqual([{ generation: 2 }]);
    expect(await store.db.selectFrom('api_keys').select('origin').execute()).toEqual([{ origin: 'login' }]);
  });

  test('a program that stays away too long signs in again; one that comes may go on, but not beyond the rule', async () => {
    const { logins } = over(store);
    let { refreshToken } = await login();
    for (let month = 0; month < 3; month++) {
      at += 29 * DAY;
      ({ refreshToken } = await logins.refresh(refreshToken));
    }
    at += 4 * DAY;
    expect(await refused(logins.refresh(refreshToken))).toContain('login_ended');
    const other = await login();
    at += 31 * DAY;
    expect(await refused(logins.refresh(other.refreshToken))).toContain('not used for too long');
  });

  test('a code that nobody answers for ten minutes ends, and so does one that is allowed and not asked for', async () => {
    const { logins } = over(store);
    const { deviceCode, choice } = await begun();
    at += 10 * MINUTE;
    expect(await refused(logins.allow(choice, {}))).toContain('device_code_unknown');
    expect(await refused(logins.redeem(deviceCode, 'test'))).toContain('device_code_expired');
    const late = await begun();
    await logins.allow(late.choice, {});
    at += 30 * MINUTE;
    expect(await refused(logins.redeem(late.deviceCode, 'test'))).toContain('device_code_expired');
    // What is left of it goes when the next one is let in.
    await login();
    const left = await store.db.selectFrom('login_grants').select('generation').where('generation', '=', 0).execute();
    expect(left).toEqual([]);
  });
});
