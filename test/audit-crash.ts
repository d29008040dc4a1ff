import { eventually, type GatewayProcess } from './process.ts';
import { query } from './state-tables.ts';

type Place = Parameters<typeof query>[0];

/** Makes, changes and deletes keys until the process is killed in the middle of it. */
export async function killWhileChanging(gateway: GatewayProcess, enough: number): Promise<void> {
  let isOver = false;
  let changes = 0;
  const worker = async (number: number) => {
    for (let count = 0; !isOver; count++) {
      const name = `worker ${number} key ${count} of ${gateway.pid}`;
      const made = await gateway.api.post('/v1/api-keys', { name }).catch(() => null);
      if (made?.status !== 200) continue;
      changes++;
      if (count % 2 === 0) continue;
      const gone = await gateway.api.delete(`/v1/api-keys/${made.json.id}`).catch(() => null);
      if (gone?.status === 200) changes++;
    }
  };
  const workers = Array.from({ length: 8 }, (_, number) => worker(number));
  await eventually('keys are being made', () => changes >= enough);
  await gateway.kill();
  isOver = true;
  await Promise.all(workers);
}

interface Recorded {
  readonly request_body: string;
  readonly uri: string;
  readonly action: string;
}

/** Keys without their record, and records without their key: neither may be. */
export async function strayKeys(
  place: Place,
): Promise<{ unrecorded: string[]; unmade: string[]; undeleted: string[] }> {
  const keys = await query<{ id: string; name: string }>(place, "select id, name from api_keys where origin = 'api'");
  const records = await query<Recorded>(
    place,
    "select request_body, uri, action from audit_records where resource_type = 'api_keys' and response_status_code = 200",
  );
  const created = records.filter(({ action }) => action === 'create').map((each) => JSON.parse(each.request_body).name);
  const deleted = records.filter(({ action }) => action === 'delete').map(({ uri }) => uri.split('/').at(-1)!);
  const names = new Set(keys.map(({ name }) => name));
  const ids = new Set(keys.map(({ id }) => id));
  const recorded = new Set(created);
  return {
    unrecorded: keys.filter(({ name }) => !recorded.has(name)).map(({ name }) => name),
    // Of those that were made, as many are gone as were deleted.
    unmade: created.length - deleted.length === names.size ? [] : created.filter((name) => !names.has(name)),
    undeleted: deleted.filter((id) => ids.has(id)),
  };
}

export const none = { unrecorded: [], unmade: [], undeleted: [] };
