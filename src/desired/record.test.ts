import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createDatabase } from '../../test/postgres.ts';
import { checkRecord } from '../audit/record-check.ts';
import { type Installation, installationOn } from '../cli/installation.ts';
import { createSealer } from '../crypto/seal.ts';
import { openPostgres, openSqlite } from '../storage/store.ts';
import { carryOut, look } from './carry-out.ts';
import { type Desired, nothing, type VirtualKeyWish } from './desired.ts';
import type { PlanOptions } from './plan.ts';
import { createFindings } from './reading/findings.ts';

const place = { file: 'wishes.yaml', line: 7 };
const options: PlanOptions = { manager: 'apply/production', mode: 'state', prune: true, place };
const virtualKey = (note: string | null, key = 'sk-very-secret'): VirtualKeyWish => ({
  ...{ place, ref: 'default/openai', workspace: 'default', slug: 'openai', key },
  fields: {
    ...{ name: 'openai', note, provider: 'openai', custom_host: null, configurations: {}, expires_at: null },
    ...{ rate_limits: [], usage_limits: [] },
  },
});
const sealer = createSealer(Buffer.alloc(32, 9));

function suite(engine: string, open: () => Promise<Installation>) {
  describe(engine, () => {
    let installation: Installation;
    beforeAll(async () => {
      installation = await open();
    });
    afterAll(() => installation.close());

    const wanted = (...virtualKeys: VirtualKeyWish[]): Desired => ({ ...nothing, virtualKeys });
    const planned = (desired: Desired) => look(installation, desired, createFindings(), options);
    const apply = async (desired: Desired) =>
      carryOut(installation, { desired, plan: await planned(desired), options });
    const records = () =>
      installation.store.db.selectFrom('audit_records').selectAll().orderBy('at').orderBy('id').execute();

    test('each change of a command has the record that a call would have had, by the command line', async () => {
      await apply(wanted(virtualKey(null)));
      await apply(wanted(virtualKey('for tests', 'sk-another-secret')));
      await apply(wanted());
      const all = await records();
      const workspaceId = installation.who.workspaceId;
      expect(all.map(({ method, action, resource_type, uri }) => [method, action, resource_type, uri])).toEqual([
        ['POST', 'create', 'virtual_keys', 'cli:apply/production'],
        ['PUT', 'update', 'virtual_keys', 'cli:apply/production'],
        ['DELETE', 'delete', 'virtual_keys', 'cli:apply/production'],
      ]);
      expect(all.map(({ workspace_id }) => workspace_id)).toEqual([workspaceId, workspaceId, '']);
      const bodies = all.map(({ request_body }) => JSON.parse(request_body));
      for (const body of bodies)
        expect(body).toMatchObject({ actor: 'command line', object: 'virtual key default/openai' });
      expect(bodies[0].fields).toMatchObject({ name: 'openai', provider: 'openai' });
      expect(bodies[1].fields).toEqual({ note: 'for tests' });
      expect(JSON.stringify(all)).not.toContain('secret');
      for (const record of all) {
        expect(record.organisation_id).toBe(installation.who.organisationId);
        checkRecord(sealer, record);
      }
    });

    test('a change that is not carried out has none', async () => {
      const before = (await records()).length;
      const desired = wanted(virtualKey(null));
      const plan = await planned(desired);
      const other = wanted(virtualKey('in between'));
      await carryOut(installation, { desired: other, plan: await planned(other), options });
      await expect(carryOut(installation, { desired, plan, options })).rejects.toThrow('has changed');
      expect((await records()).length).toBe(before + 1);
    });

    test('without its record a change does not happen', async () => {
      const broken = { ...installation, sealer: { ...sealer, sign: () => null as unknown as string } };
      const desired = wanted(virtualKey('never'));
      const plan = await planned(desired);
      await expect(carryOut(broken, { desired, plan, options })).rejects.toThrow();
      expect(await planned(desired)).toMatchObject({ steps: [{ action: 'change' }] });
    });
  });
}

suite('sqlite', async () => installationOn(openSqlite(':memory:'), sealer, null));
suite('postgres', async () => {
  const url = await createDatabase();
  return installationOn(await openPostgres(url), sealer, url);
});
