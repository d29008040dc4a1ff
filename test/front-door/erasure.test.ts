import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { toFile } from 'openai';
import { blobsOf, rowsIn, tablesOf, useEverything } from '../belongings.ts';
import { ADMIN_KEY, type Reply, startGateway, type TestGateway } from '../gateway.ts';
import { givenBrowser, givenUser, PASSWORD } from '../people.ts';
import { eventually, runGateway } from '../process.ts';
import { openaiClient } from '../sdk-clients.ts';

const PATH = '/v1/admin/erasures';
const BODY = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'for somebody' }] };

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`forgetting a person on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
      await gateway.given.virtualKey({ slug: 'claude', provider: 'anthropic' });
    });
    afterAll(() => gateway.stop());

    const refusal = (reply: Reply, status: number, error: Record<string, unknown>) => {
      expect(reply.status).toBe(status);
      expect(reply.json.error).toMatchObject(error);
    };
    /** A key of the person's own, which that person makes. */
    const givenPerson = async () => {
      const made = await givenBrowser(gateway, { workspaces: [{ id: 'default', role: 'manager' }] });
      const reply = await made.browser.call('POST', '/v1/api-keys', {
        name: 'mine',
        user_id: made.user.id,
        defaults: { virtual_key: 'sim' },
      });
      expect(reply.status).toBe(200);
      return { ...made, key: reply.json.key as string };
    };
    const completed = async (id: string) => {
      // biome-ignore lint/suspicious/noExplicitAny: the test looks into what was answered
      let report: Record<string, any> = {};
      await eventually('the erasure is completed', async () => {
        report = (await gateway.api.get(`${PATH}/${id}`)).json;
        return report.status === 'completed';
      });
      return report;
    };
    const idOf = (reply: { headers: Headers }) => reply.headers.get('x-gateway-request-id')!;

    test('takes what clients have told by OTLP, in the person’s name or of the person, and nothing else', async () => {
      const [ann, bob] = [await givenPerson(), await givenPerson()];
      const tell = async (key: string, spanId: string, email: string) => {
        const span = {
          ...{ traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId, name: 'told', kind: 1 },
          startTimeUnixNano: `${Date.now()}000000`,
          endTimeUnixNano: `${Date.now()}000000`,
          attributes: [{ key: 'user.email', value: { stringValue: email } }],
        };
        const body = { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] };
        expect((await gateway.api.post('/v1/otel/v1/traces', body, { key })).text).toBe('{}');
      };
      await tell(ann.key, '00000000000000a1', 'other@example.com');
      await tell(bob.key, '00000000000000a2', ann.user.email);
      await tell(bob.key, '00000000000000a3', bob.user.email);
      expect(await rowsIn(gateway, 'ingested_spans', '1 = 1')).toBe(3);
      const begun = await gateway.api.post(PATH, { user: ann.user.email });
      await completed(begun.json.id);
      expect(await rowsIn(gateway, 'ingested_spans', '1 = 1')).toBe(1);
      expect(await rowsIn(gateway, 'ingested_spans', `user_id = '${bob.user.id}'`)).toBe(1);
    });

    test('takes keys, threads, files, feedback and log entries of one person, and of no one else', async () => {
      const [ann, bob] = [await givenPerson(), await givenPerson()];
      const blobsBefore = (await blobsOf(gateway)).length;
      const bobs = await useEverything(gateway, bob.key, 'said by Bob');
      const blobsOfOne = (await blobsOf(gateway)).length - blobsBefore;
      const anns = await useEverything(gateway, ann.key, 'said by Ann');
      // A message of hers in a thread of his, and one of his in a thread of hers.
      const message = { role: 'user', content: 'Ann here' };
      await gateway.api.post(`/v1/threads/${bobs.thread.id}/messages`, message, { key: ann.key });
      // An application calls for each of them, and tells what they think of it.
      const { key: service } = await gateway.given.apiKey({ defaults: { virtual_key: 'sim' } });
      const calledFor = async (name: string) => {
        const headers = { 'x-gateway-metadata': JSON.stringify({ _user: name }) };
        const opinion = { trace_id: 't', value: 1, metadata: { _user: name } };
        expect((await gateway.api.post('/v1/feedback', opinion, { key: service })).status).toBe(200);
        return gateway.api.post('/v1/chat/completions', BODY, { key: service, headers });
      };
      const [forAnn, forBob] = [await calledFor(ann.user.email), await calledFor(bob.user.email)];
      const bySession = await ann.browser.call('GET', '/v1/files');
      for (const reply of [forAnn, forBob, bySession]) await gateway.logOf(reply);
      const ofAnn = `user_id = '${ann.user.id}'`;
      const filled = ['files', 'uploads', 'threads', 'messages', 'runs', 'batches', 'fine_tuning_jobs', 'responses'];
      for (const table of [...filled, 'feedbacks', 'request_logs'])
        expect([table, await rowsIn(gateway, table, ofAnn)]).not.toEqual([table, 0]);
      const ofBob = `user_id = '${bob.user.id}'`;
      const before: Record<string, number> = {};
      for (const table of filled) before[table] = await rowsIn(gateway, table, ofBob);

      const begun = await gateway.api.post(PATH, { user: ann.user.email });
      expect(begun.status).toBe(200);
      expect(begun.json).toMatchObject({ object: 'user.erasure', user_id: ann.user.id });
      expect(begun.text).not.toContain(ann.user.email);
      // From here on the account does not exist.
      expect((await gateway.api.get('/v1/files', { key: ann.key })).status).toBe(401);
      expect((await ann.browser.call('GET', '/v1/sessions/current')).status).toBe(401);
      expect((await gateway.api.get(`/v1/admin/users/${ann.user.id}`)).status).toBe(404);
      const report = await completed(begun.json.id);

      const named = [...(await tablesOf(gateway))].flatMap(([name, columns]) => (columns.has('user_id') ? name : []));
      const kept = gateway.owners.withUser.flatMap(({ tables, kept: why }) => (why ? tables : []));
      for (const table of named)
        if (!kept.includes(table)) expect([table, await rowsIn(gateway, table, ofAnn)]).toEqual([table, 0]);
      for (const id of [anns.logId, idOf(forAnn), idOf(bySession)])
        expect((await gateway.api.get(`/v1/logs/${id}`)).status).toBe(404);
      expect(await rowsIn(gateway, 'feedbacks', `metadata like '%${ann.user.email}%'`)).toBe(0);
      expect(await rowsIn(gateway, 'request_log_labels', `value = '${ann.user.email}'`)).toBe(0);
      for (const table of [
        'batch_lines',
        'batch_results',
        'fine_tuning_events',
        'response_items',
        'run_steps',
        'run_events',
      ]) {
        const [owner, column] = parentOf(table);
        const orphans = `${column} not in (select id from ${owner})`;
        expect([table, await rowsIn(gateway, table, orphans)]).toEqual([table, 0]);
      }

      // Bob's are as they were.
      for (const table of filled) expect([table, await rowsIn(gateway, table, ofBob)]).toEqual([table, before[table]!]);
      expect((await blobsOf(gateway)).length - blobsBefore).toBe(blobsOfOne);
      const messages = await gateway.api.get(`/v1/threads/${bobs.thread.id}/messages`, { key: bob.key });
      expect(messages.json.data).toHaveLength(2);
      expect(messages.text).not.toContain('Ann here');
      expect((await gateway.api.get(`/v1/logs/${bobs.logId}`)).json.request.body).toContain('said by Bob');
      expect((await gateway.api.get(`/v1/logs/${idOf(forBob)}`)).status).toBe(200);
      // The store is a tool of the workspace; her file is out of it.
      const store = await gateway.api.get(`/v1/vector_stores/${anns.store.id}/files`, { key: service });
      expect(store.json.data).toEqual([]);

      const counted = Object.fromEntries(report.removed.map(({ area, rows }: Counted) => [area, rows]));
      for (const area of ['user', 'API keys', 'sessions', 'threads', 'files', 'batches', 'feedback', 'request log'])
        expect([area, counted[area] > 0]).toEqual([area, true]);
      expect(report.kept.map(({ area }: Counted) => area)).toContain('audit log');
      expect(JSON.stringify(report)).not.toContain(ann.user.email);
      expect((await gateway.api.get(`${PATH}/${ann.user.id}`)).json.id).toBe(report.id);
      expect((await gateway.api.get(PATH)).json.data).toContainEqual(report);
      const audit = await gateway.api.get(`/v1/audit-logs?action=erase`);
      expect(audit.json.data ?? audit.json.records).not.toEqual([]);
    });

    test('finds what somebody left who was deleted before', async () => {
      const person = await givenPerson();
      const openai = openaiClient(gateway.url, person.key);
      await openai.files.create({ file: await toFile(Buffer.from('left'), 'left.txt'), purpose: 'user_data' });
      await gateway.api.delete(`/v1/admin/users/${person.user.id}`);
      const ofPerson = `user_id = '${person.user.id}'`;
      expect(await rowsIn(gateway, 'files', ofPerson)).toBe(1);
      refusal(await gateway.api.post(PATH, { user: person.user.id }), 404, { code: 'user_not_found' });
      const begun = await gateway.api.post(PATH, { user: person.user.id, is_deleted: true });
      await completed(begun.json.id);
      expect(await rowsIn(gateway, 'files', ofPerson)).toBe(0);
    });

    test('is for owners, spares the last one, and no one forgets themselves', async () => {
      const victim = await givenUser(gateway);
      const admin = await givenBrowser(gateway, { role: 'admin' });
      refusal(await admin.browser.call('POST', PATH, { user: victim.id }), 403, { code: 'insufficient_scope' });
      const owner = await givenBrowser(gateway, { role: 'owner' });
      refusal(await gateway.api.post(PATH, { user: owner.user.id }), 400, { code: 'last_owner' });
      refusal(await owner.browser.call('POST', PATH, { user: owner.user.email }), 400, { param: 'user' });
      refusal(await gateway.api.post(PATH, { user: victim.id, is_deleted: true }), 400, { param: 'is_deleted' });
      refusal(await gateway.api.post(PATH, { user: ' ' }), 400, { param: 'user' });
      refusal(await gateway.api.post(PATH, { user: 'nobody@example.com' }), 404, { code: 'user_not_found' });
      refusal(await gateway.api.get(`${PATH}/missing`), 404, { code: 'erasure_not_found' });
      expect((await gateway.api.get(`/v1/admin/users/${victim.id}`)).status).toBe(200);
      expect((await gateway.api.post('/v1/sessions', { email: owner.user.email, password: PASSWORD })).status).toBe(
        200,
      );
    });

    test('works as a command beside the running gateway, which prints a report', async () => {
      const { user, key } = await givenPerson();
      await openaiClient(gateway.url, key).beta.threads.create({ messages: [{ role: 'user', content: 'hi' }] });
      const environment = { GATEWAY_ADMIN_KEY: ADMIN_KEY };
      const run = (...rest: string[]) =>
        runGateway({ arguments: ['erase', '--url', gateway.url, '--yes', ...rest], environment });
      const done = await run('--user', user.email);
      expect([done.exitCode, done.errors]).toEqual([0, '']);
      expect(done.output).toContain(`of user ${user.id} has begun.`);
      expect(done.output).toMatch(/removed {2}threads: [1-9]/);
      expect(done.output).toMatch(/kept {2}audit log: /);
      expect(await rowsIn(gateway, 'threads', `user_id = '${user.id}'`)).toBe(0);
      const again = await run('--user', user.email);
      expect([again.exitCode, again.errors]).toEqual([1, `gateway: No user ${user.email} in this organisation.\n`]);
      expect((await run()).exitCode).toBe(2);
    });
  });
}

interface Counted {
  readonly area: string;
  readonly rows: number;
}

const parentOf = (table: string): [string, string] => {
  if (table.startsWith('batch_')) return ['batches', 'batch_id'];
  if (table.startsWith('fine_tuning_')) return ['fine_tuning_jobs', 'job_id'];
  return table.startsWith('response_') ? ['responses', 'response_id'] : ['runs', 'run_id'];
};
