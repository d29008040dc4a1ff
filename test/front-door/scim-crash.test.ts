import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { newDataDir, removeDataDir, startProcess } from '../process.ts';

const PEOPLE = 5_000;
/** Of the time that the change takes when it is left alone. */
const MOMENTS = [0.2, 0.5, 0.8, 1.1, 1.5];

/** Makes users as a directory would have, only faster. */
function layUsers(database: Database, organisation: string): string[] {
  const ids = Array.from({ length: PEOPLE }, (_, index) => `person-${index}`);
  database.transaction(() => {
    const user = database.prepare(
      'insert into users (id, organisation_id, email, role, created_at, updated_at) values (?, ?, ?, ?, 1, 1)',
    );
    for (const id of ids) user.run(id, organisation, `${id}@many.example.com`, 'member');
  })();
  return ids;
}

test('a gateway that is killed while a directory fills a group has all of it or nothing: members, their workspace, the audit log', async () => {
  const dataDir = newDataDir();
  let gateway = await startProcess({ dataDir });
  const organisation = (await gateway.api.get('/v1/admin/organisation')).json.id;
  const { id: group } = (await gateway.api.post('/scim/v2/Groups', { displayName: 'Everyone' })).json;
  await gateway.api.post('/v1/admin/scim/mappings', { group: 'everyone', workspace: 'default', role: 'member' });
  const database = new Database(join(gateway.dataDir, 'state.db'));
  database.run('pragma busy_timeout = 30000');
  const ids = layUsers(database, organisation);

  const fill = (members: readonly string[]) =>
    gateway.api.put(`/scim/v2/Groups/${group}`, {
      displayName: 'Everyone',
      members: members.map((value) => ({ value })),
    });
  const total = (from: string) =>
    (database.query(`select count(*) as total from ${from}`).get() as { total: number }).total;
  /** How often the audit log says that the group was changed. */
  const recorded = async (): Promise<number> => {
    const search = new URLSearchParams({
      start_time: '2020-01-01T00:00:00Z',
      end_time: '2100-01-01T00:00:00Z',
      organisation_id: organisation,
    });
    const { records } = (await gateway.api.get(`/v1/audit-logs?${search}`)).json;
    type Record = { resource_type: string; action: string; response_status_code: number };
    return records.filter(
      ({ resource_type, action, response_status_code }: Record) =>
        resource_type === 'scim_groups' && action === 'update' && response_status_code === 200,
    ).length;
  };
  const state = () => ({
    members: total('scim_group_members'),
    inWorkspace: total("workspace_members where user_id like 'person-%'"),
  });
  const begun = performance.now();
  expect((await fill(ids)).status).toBe(200);
  const tookMs = performance.now() - begun;
  expect(state()).toEqual({ members: PEOPLE, inWorkspace: PEOPLE });
  expect((await fill([])).status).toBe(200);

  let changes = 2;
  for (const moment of MOMENTS) {
    const filling = fill(ids).catch(() => null);
    await Bun.sleep(tookMs * moment);
    await gateway.kill();
    await filling;
    gateway = await startProcess({ dataDir });

    const { members, inWorkspace } = state();
    expect([0, PEOPLE]).toContain(members);
    expect(inWorkspace).toBe(members);
    if (members > 0) {
      expect((await fill([])).status).toBe(200);
      changes += 2;
    }
    expect(await recorded()).toBe(changes);
  }
  database.close();
  await gateway.stop();
  removeDataDir(dataDir);
});
