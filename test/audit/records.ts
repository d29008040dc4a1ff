import { ChainGuard } from '../../src/audit/guard.ts';
import { insertRecords, type NewRecord } from '../../src/audit/record.ts';
import { startSealing } from '../../src/audit/sealing.ts';
import { createHealth } from '../../src/core/health.ts';
import { newId } from '../../src/core/ids.ts';
import { createSealer, type Sealer } from '../../src/crypto/seal.ts';
import type { Store } from '../../src/storage/store.ts';

/** Records and sealing for tests of the audit log. */

export const testSealer = (): Sealer => createSealer(Buffer.alloc(32, 7));

export const record = (organisationId: string, over: Partial<NewRecord> = {}): NewRecord => ({
  id: newId(),
  organisation_id: organisationId,
  at: Date.UTC(2026, 0, 1),
  method: 'POST',
  user_type: 'api_key',
  user_id: newId(),
  workspace_id: 'workspace',
  response_status_code: 200,
  resource_type: 'api_keys',
  action: 'create',
  client_ip: '192.0.2.1',
  country: '',
  uri: '/v1/api-keys',
  query_params: '{}',
  request_headers: '{}',
  request_body: '{"name":"x"}',
  ...over,
});

/** An organisation of its own, so that tests can share a store. */
export async function givenOrganisation(store: Store): Promise<string> {
  const id = newId<string>();
  await store.db.insertInto('organisations').values({ id, name: 'test', created_at: 1 }).execute();
  return id;
}

/** Seals whatever waits, as the gateway does half a second after they were stored. */
export async function sealNow(store: Store, sealer: Sealer): Promise<string[]> {
  const health = createHealth({ now: Date.now });
  const guard = new ChainGuard({ store, sealer, health, kept: [], report: () => {} });
  await startSealing({ store, sealer, guard, now: Date.now }).stop();
  return health.snapshot().map(({ part }) => part);
}

/** A chain of so many batches with so many records each. Answers the ids in their order. */
export async function givenChain(store: Store, sealer: Sealer, organisationId: string, batches = 3, each = 3) {
  const ids: string[] = [];
  for (let batch = 0; batch < batches; batch++) {
    const records = Array.from({ length: each }, (_, number) =>
      record(organisationId, { at: Date.UTC(2026, 0, 1 + batch, number) }),
    );
    await insertRecords(store.db, sealer, records);
    await sealNow(store, sealer);
    ids.push(...records.map(({ id }) => id));
  }
  return ids;
}
