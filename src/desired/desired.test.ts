import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createDatabase } from '../../test/postgres.ts';
import { createApiKeys } from '../auth/api-keys.ts';
import { type Installation, installationOn } from '../cli/installation.ts';
import { uncounted } from '../core/budgets.ts';
import { DATA_SCOPES } from '../core/scopes.ts';
import { createSealer, sha256 } from '../crypto/seal.ts';
import { openPostgres, openSqlite } from '../storage/store.ts';
import { carryOut, look } from './carry-out.ts';
import { type ApiKeyWish, type Desired, nothing, type VirtualKeyWish, type WorkspaceWish } from './desired.ts';
import type { PlanOptions } from './plan.ts';
import { createFindings } from './reading/findings.ts';
import { planLines } from './show.ts';

const place = { file: 'wishes.yaml', line: 7 };
const state: PlanOptions = { manager: 'apply/test', mode: 'state', prune: false, place };
const once: PlanOptions = { manager: 'import/test', mode: 'once', prune: false, place };
const limits = { rate_limits: [], usage_limits: [] };

const workspace = (slug: string, fields: Partial<WorkspaceWish['fields']> = {}): WorkspaceWish => ({
  place,
  ref: slug,
  slug,
  fields: { name: slug, description: null, defaults: {}, ...limits, ...fields },
});
const virtualKey = (
  slug: string,
  {
    key = 'sk-one',
    workspace: home = 'default',
    ...fields
  }: Partial<VirtualKeyWish['fields']> & { key?: string; workspace?: string } = {},
): VirtualKeyWish => ({
  place,
  ref: `${home}/${slug}`,
  workspace: home,
  slug,
  key,
  fields: {
    name: slug,
    note: null,
    provider: 'openai',
    custom_host: null,
    configurations: {},
    expires_at: null,
    ...limits,
    ...fields,
  },
});
const apiKey = (
  name: string,
  secret: string,
  fields: Partial<ApiKeyWish['fields']> = {},
  home = 'default',
): ApiKeyWish => ({
  place,
  ref: `${home}/${name}`,
  workspace: home,
  secret: { hash: sha256(secret), masked: '***', mayReplace: true },
  fields: { name, description: null, scopes: DATA_SCOPES, defaults: {}, expires_at: null, ...limits, ...fields },
});

/** One suite, both stores. */
function suite(engine: string, open: () => Promise<Installation>) {
  describe(engine, () => {
    let installation: Installation;
    beforeAll(async () => {
      installation = await open();
    });
    afterAll(() => installation.close());

    const run = async (wishes: Partial<Desired>, options: PlanOptions) => {
      const desired = { ...nothing, ...wishes };
      const findings = createFindings();
      const plan = await look(installation, desired, findings, options);
      if (findings.faults.length === 0) await carryOut(installation, { desired, plan, options });
      const steps = plan.steps.map(({ action, title }) => `${action} ${title}`);
      return { steps, plan, faults: findings.faults.map(({ says }) => says) };
    };
    const holderOf = (secret: string) =>
      installation.store.db
        .selectFrom('api_key_secrets')
        .select('api_key_id')
        .where('hash', '=', sha256(secret))
        .executeTakeFirst();
    const keys = () => createApiKeys({ store: installation.store, budgets: uncounted });

    test('what a file wants is made, and a second run finds nothing to do', async () => {
      const wishes = {
        workspaces: [workspace('one', { rate_limits: [{ type: 'requests', unit: 'rpm', value: 5 }] })],
        virtualKeys: [virtualKey('openai', { workspace: 'one' })],
        apiKeys: [apiKey('client', 'secret-of-client', { defaults: { virtual_key: 'openai' } }, 'one')],
      };
      const first = await run(wishes, { ...state, manager: 'apply/one' });
      const second = await run(wishes, { ...state, manager: 'apply/one' });

      expect(first.steps).toEqual([
        'create workspace one',
        'create virtual key one/openai',
        'create API key one/client',
      ]);
      expect(second).toMatchObject({ steps: [], faults: [], plan: { unchanged: 3 } });
    });

    test('what calls may not bring along is set for the organisation, a workspace and a key, and taken away again', async () => {
      const options = { ...state, manager: 'apply/rules' };
      const wishes = (forbidden: readonly string[] | null) => ({
        organisation: [{ place, ref: '*', workspace: null, fields: { forbidden } }],
        workspaces: [workspace('ruled', { forbidden })],
        apiKeys: [apiKey('ruled', 'secret-of-ruled', { forbidden }, 'ruled')],
      });
      const first = await run(wishes(['inline_config']), options);
      const second = await run(wishes(['inline_config']), options);
      const third = await run(wishes(null), options);
      const fourth = await run({ ...wishes(null), organisation: [] }, options);

      expect(first.steps).toEqual(['change organisation', 'create workspace ruled', 'create API key ruled/ruled']);
      expect(second.steps).toEqual([]);
      expect(planLines(third.plan).join('\n')).toContain(
        'change organisation\n      forbidden: ["inline_config"] → null',
      );
      expect(third.steps).toHaveLength(3);
      expect(fourth).toMatchObject({ steps: [], faults: [], plan: { kept: [] } });
    });

    test('a difference names its fields, and of secrets only that they are others', async () => {
      const options = { ...state, manager: 'apply/differences' };
      await run({ virtualKeys: [virtualKey('changing')], apiKeys: [apiKey('changing', 'before')] }, options);
      const desired = {
        ...nothing,
        virtualKeys: [virtualKey('changing', { key: 'sk-two', note: 'new', configurations: { openai_project: 'p' } })],
        apiKeys: [apiKey('changing', 'after')],
      };
      const plan = await look(installation, desired, createFindings(), options);
      const shown = planLines(plan).join('\n');

      expect(shown).toContain('note: null → "new"');
      expect(shown).toContain('configurations.openai_project: null → "p"');
      expect(shown.match(/ {6}key: changed/g)).toHaveLength(2);
      expect(shown).not.toMatch(/sk-one|sk-two/);
      await carryOut(installation, { desired, plan, options });
      expect(await holderOf('before')).toBeUndefined();
      expect(await holderOf('after')).toBeDefined();
    });

    test('what the database changed meanwhile is noticed, and nothing is done', async () => {
      const options = { ...state, manager: 'apply/meanwhile' };
      const desired = { ...nothing, virtualKeys: [virtualKey('meanwhile')] };
      const plan = await look(installation, desired, createFindings(), options);
      await run({ virtualKeys: [virtualKey('meanwhile')] }, options);

      expect(carryOut(installation, { desired, plan, options })).rejects.toThrow('has changed since');
    });

    test('pruning deletes what this file made and no longer names, and nothing else', async () => {
      const options = { ...state, manager: 'apply/pruned' };
      await run({ virtualKeys: [virtualKey('by-hand')] }, { ...state, manager: 'apply/other' });
      await run(
        { workspaces: [workspace('short')], virtualKeys: [virtualKey('gone', { workspace: 'short' })] },
        options,
      );

      const kept = await run({}, options);
      expect(kept.steps).toEqual([]);
      expect(kept.plan.kept).toEqual(['virtual key short/gone', 'workspace short']);
      const pruned = await run({}, { ...options, prune: true });
      expect(pruned.steps).toEqual(['delete virtual key short/gone', 'delete workspace short']);
      expect((await run({}, { ...options, prune: true })).steps).toEqual([]);
      const { total } = await installation.store.db
        .selectFrom('virtual_keys')
        .select((select) => select.fn.countAll<number>().as('total'))
        .where('slug', '=', 'by-hand')
        .executeTakeFirstOrThrow();
      expect(total).toBe(1);
    });

    test('a workspace that holds what others made is not pruned', async () => {
      const options = { ...state, manager: 'apply/shared' };
      await run({ workspaces: [workspace('shared')] }, options);
      await keys().create(installation.who, { name: 'by hand', workspace_id: 'shared' }, Date.now());

      const { faults } = await run({}, { ...options, prune: true });
      expect(faults).toEqual(['workspace shared cannot be deleted: it holds 1 thing that this file did not make']);
    });

    test('what exists already is changed as the file says, and never pruned', async () => {
      const options = { ...state, manager: 'apply/adopting' };
      await run({ virtualKeys: [virtualKey('theirs')] }, { ...state, manager: 'apply/them' });

      const changed = await run({ virtualKeys: [virtualKey('theirs', { note: 'ours' })] }, options);
      expect(changed.steps).toEqual(['change virtual key default/theirs']);
      expect((await run({}, { ...options, prune: true })).steps).toEqual([]);
    });

    test('a key that the file calls otherwise is renamed, not made again', async () => {
      const options = { ...state, manager: 'apply/renaming', prune: true };
      await run({ apiKeys: [apiKey('before', 'renamed-secret')] }, options);
      const id = (await holderOf('renamed-secret'))!.api_key_id;

      expect((await run({ apiKeys: [apiKey('later', 'renamed-secret')] }, options)).steps).toEqual([
        'change API key default/later',
      ]);
      expect((await holderOf('renamed-secret'))!.api_key_id).toBe(id);
      expect((await run({ apiKeys: [apiKey('later', 'renamed-secret')] }, options)).steps).toEqual([]);
    });

    test('a secret of a key in another workspace, and an unknown workspace, are faults', async () => {
      await run({ workspaces: [workspace('home')], apiKeys: [apiKey('there', 'taken-secret', {}, 'home')] }, state);
      const { faults } = await run(
        { apiKeys: [apiKey('here', 'taken-secret')], virtualKeys: [virtualKey('lost', { workspace: 'nowhere' })] },
        { ...state, manager: 'apply/faulty' },
      );

      expect(faults[0]).toBe('workspace: there is no workspace "nowhere"');
      expect(faults[1]).toContain('in workspace home, and keys do not move');
    });

    test('an import that runs again changes nothing, also not what people changed since', async () => {
      const wishes = { apiKeys: [apiKey('imported', 'imported-secret')] };
      expect((await run(wishes, once)).steps).toEqual(['create API key default/imported']);
      const id = (await holderOf('imported-secret'))!.api_key_id;
      await keys().update(installation.who, id, { name: 'renamed by hand' }, Date.now());

      expect(await run(wishes, once)).toMatchObject({ steps: [], plan: { unchanged: 1 } });
      expect((await keys().read(installation.who, id, Date.now())).name).toBe('renamed by hand');
    });

    test('an import takes over what its source says anew', async () => {
      await run({ apiKeys: [apiKey('moving', 'moving-secret')] }, once);

      const { steps } = await run({ apiKeys: [apiKey('moving', 'moving-secret', { description: 'new' })] }, once);
      expect(steps).toEqual(['change API key default/moving']);
    });

    test('a secret that was rotated away here does not come back with an import', async () => {
      const wish = (description: string): ApiKeyWish => {
        const made = apiKey('rotated', 'rotated-secret', { description });
        return { ...made, secret: { ...made.secret, mayReplace: false } };
      };
      await run({ apiKeys: [wish('first')] }, once);
      const id = (await holderOf('rotated-secret'))!.api_key_id;
      await keys().replaceSecret(installation.who, id, { hash: sha256('rotated-in'), masked: '***' }, Date.now());

      expect((await run({ apiKeys: [wish('second')] }, once)).steps).toEqual(['change API key default/rotated']);
      expect(await holderOf('rotated-secret')).toBeUndefined();
      expect((await holderOf('rotated-in'))!.api_key_id).toBe(id);
    });

    test('an imported key that was revoked here stays revoked', async () => {
      const wishes = { apiKeys: [apiKey('revoked', 'revoked-secret')] };
      await run(wishes, once);
      await keys().delete(installation.who, (await holderOf('revoked-secret'))!.api_key_id);

      const again = await run(wishes, once);
      expect(again.plan.leftDeleted).toEqual(['API key default/revoked']);
      expect(await holderOf('revoked-secret')).toBeUndefined();
    });

    test('an import does not touch what it did not make', async () => {
      await run({ virtualKeys: [virtualKey('occupied')] }, state);

      const { faults } = await run({ virtualKeys: [virtualKey('occupied', { key: 'sk-other' })] }, once);
      expect(faults).toEqual([
        'virtual key default/occupied: exists already and was not made by this import; rename or delete it first',
      ]);
    });

    test('marks hold no digest that could be tried out', async () => {
      const marks = await installation.store.db.selectFrom('managed').select('sealed').execute();

      expect(marks.length).toBeGreaterThan(0);
      for (const { sealed } of marks) expect(sealed).toStartWith('v1.');
    });
  });
}

const sealer = createSealer(Buffer.alloc(32, 9));
suite('sqlite', async () => installationOn(openSqlite(':memory:'), sealer, null));
suite('postgres', async () => {
  const url = await createDatabase();
  return installationOn(await openPostgres(url), sealer, url);
});
