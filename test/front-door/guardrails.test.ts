import { afterAll, beforeAll, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';

const engines = ['sqlite', 'postgres'] as const;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const contains = (words: string[] = ['forbidden']) => ({
  id: 'default.contains',
  parameters: { words, operator: 'none' },
});

for (const engine of engines) {
  let gateway: TestGateway;
  const on = (sentence: string, work: () => Promise<void>) => test(`${engine}: ${sentence}`, work);
  const made = async (body: Record<string, unknown> = {}) => {
    const reply = await gateway.api.post('/v1/guardrails', { name: 'Guard', checks: [contains()], ...body });
    if (reply.status !== 200) throw new Error(reply.text);
    return reply.json;
  };

  beforeAll(async () => {
    gateway = await startGateway({ engine });
  });
  afterAll(() => gateway.stop());

  on('a guardrail is made, read by id and by slug, listed and deleted', async () => {
    const { api } = gateway;
    const guardrail = await made({ name: 'No Forbidden Words', actions: { deny: true } });

    expect(guardrail).toMatchObject({
      object: 'guardrail',
      slug: 'no-forbidden-words',
      name: 'No Forbidden Words',
      status: 'active',
      checks: [{ ...contains(), is_enabled: true }],
      actions: { deny: true, async: false, sequential: false, stream: 'buffer' },
    });
    for (const id of [guardrail.id, guardrail.version_id]) expect(id).toMatch(UUID);
    const byId = await api.get(`/v1/guardrails/${guardrail.id}`);
    const bySlug = await api.get(`/v1/guardrails/${guardrail.slug}`);
    expect(byId.json).toEqual(guardrail);
    expect(bySlug.json).toEqual(guardrail);
    const listed = await api.get('/v1/guardrails', { headers: {} });
    expect(listed.json.data.map(({ id }: { id: string }) => id)).toContain(guardrail.id);
    expect(listed.json.data[0].checks).toBeUndefined();
    const some = await api.get(`/v1/guardrails?ids=${guardrail.id}`);
    expect(some.json).toMatchObject({ object: 'list', total: 1, has_more: false });

    const gone = await api.delete(`/v1/guardrails/${guardrail.slug}`);
    expect(gone.json).toEqual({ id: guardrail.id, object: 'guardrail', deleted: true });
    expect((await api.get(`/v1/guardrails/${guardrail.id}`)).status).toBe(404);
  });

  on('every update answers id, slug and a new version, and earlier versions stay readable', async () => {
    const { api } = gateway;
    const { id, slug, version_id: first } = await made({ name: 'Versions', actions: { deny: true, sequential: true } });

    const renamed = await api.put(`/v1/guardrails/${id}`, { name: 'Other' });
    const nothing = await api.put(`/v1/guardrails/${slug}`, {});
    const replaced = await api.put(`/v1/guardrails/${slug}`, {
      checks: [contains(['other'])],
      actions: { async: true },
    });

    for (const reply of [renamed, nothing, replaced]) {
      expect(reply.status).toBe(200);
      expect(Object.keys(reply.json).sort()).toEqual(['id', 'slug', 'version_id']);
      expect(reply.json).toMatchObject({ id, slug });
    }
    const versions = await api.get(`/v1/guardrails/${id}/versions`);
    expect(versions.json.data.map((version: { version_id: string }) => version.version_id)).toEqual([
      replaced.json.version_id,
      nothing.json.version_id,
      renamed.json.version_id,
      first,
    ]);
    expect(versions.json.data.at(-1)).toMatchObject({ name: 'Versions', actions: { deny: true, sequential: true } });
    const now = await api.get(`/v1/guardrails/${id}`);
    // What an update leaves out of actions takes its default again.
    expect(now.json).toMatchObject({ name: 'Other', actions: { deny: false, async: true, sequential: false } });
    expect(now.json.checks[0].parameters.words).toEqual(['other']);
  });

  on('a fault in a guardrail is named with its path, and nothing is stored', async () => {
    const { api } = gateway;
    const faults: [Record<string, unknown>, string, string][] = [
      [{ checks: [] }, 'checks', 'at least one'],
      [{ checks: 'x' }, 'checks', 'list'],
      [{ checks: [{ id: 'default.nope' }] }, 'checks[0].id', 'no check "default.nope"'],
      [{ checks: [contains(), { id: 'default.contains' }] }, 'checks[1].parameters.words', ''],
      [{ checks: [{ id: 'default.regexMatch', parameters: { rule: '(' } }] }, 'checks[0].parameters.rule', ''],
      [
        { checks: [{ ...contains(), parameters: { words: ['x'], wrod: 1 } }] },
        'checks[0].parameters.wrod',
        'not known',
      ],
      [{ checks: [contains()], actions: { deny: 'yes' } }, 'actions.deny', 'true or false'],
      [{ checks: [contains()], nonsense: 1 }, 'nonsense', 'not known'],
      [
        { checks: [{ id: 'default.wordCount' }], actions: { stream: 'window' } },
        'checks[0].id',
        'has to see the whole text',
      ],
      [
        { checks: [{ id: 'default.webhook', parameters: { webhookURL: 'https://10.0.0.1/hook' } }] },
        'checks[0].parameters',
        'not globally reachable',
      ],
    ];
    const before = (await api.get('/v1/guardrails')).json.total;

    for (const [body, param, why] of faults) {
      const reply = await api.post('/v1/guardrails', { name: 'Faulty', ...body });
      expect([reply.status, reply.json.error.code, reply.json.error.param]).toEqual([400, 'invalid_request', param]);
      expect(reply.json.error.message).toContain(why);
    }
    expect((await api.get('/v1/guardrails')).json.total).toBe(before);
    const { slug } = await made({ name: 'Sound' });
    const refused = await api.put(`/v1/guardrails/${slug}`, { checks: [] });
    expect([refused.status, refused.json.error.param]).toEqual([400, 'checks']);
  });

  on('secrets among the parameters are shown masked and cannot be stored like that', async () => {
    const { api } = gateway;
    const parameters = { webhookURL: 'https://127.0.0.1/hook', headers: { 'x-token': 'a-very-secret-token-value' } };

    const guardrail = await made({ name: 'Hooked', checks: [{ id: 'default.webhook', parameters }] });

    expect(JSON.stringify(guardrail)).not.toContain('a-very-secret-token-value');
    const shown = (await api.get(`/v1/guardrails/${guardrail.id}`)).json;
    expect(shown.checks[0].parameters.headers['x-token']).toContain('***');
    const refused = await api.put(`/v1/guardrails/${guardrail.id}`, { checks: shown.checks });
    expect([refused.status, refused.json.error.param]).toEqual([400, 'checks[0].parameters.headers']);
  });

  on(
    "another workspace's guardrail is missing, one of the organisation is there for all and changed by few",
    async () => {
      const { api, given } = gateway;
      const [one, two] = [await given.workspace(), await given.workspace()];
      const scopes = ['create', 'list', 'read', 'update', 'delete'].map((verb) => `guardrails.${verb}`);
      const keyOf = async (workspace: { id: string }) =>
        (await given.apiKey({ workspace_id: workspace.id, scopes })).key;
      const [keyOfOne, keyOfTwo] = [await keyOf(one), await keyOf(two)];
      const organisation = (await api.get('/v1/admin/organisation')).json.id;
      const own = (await api.post('/v1/guardrails', { name: 'Own', checks: [contains()] }, { key: keyOfOne })).json;
      const shared = await made({ name: 'Shared', organisation_id: organisation });

      expect([own.workspace_id, shared.workspace_id]).toEqual([one.id, null]);
      for (const reference of [own.id, own.slug]) {
        for (const method of ['GET', 'PUT', 'DELETE']) {
          const reply = await api.call(method, `/v1/guardrails/${reference}`, {
            key: keyOfTwo,
            ...(method === 'PUT' && { body: { name: 'Mine' } }),
          });
          expect([method, reply.status, reply.json.error.code]).toEqual([method, 404, 'guardrail_not_found']);
        }
        expect((await api.get(`/v1/guardrails/${reference}/versions`, { key: keyOfTwo })).status).toBe(404);
      }
      expect((await api.get(`/v1/guardrails/${shared.slug}`, { key: keyOfTwo })).status).toBe(200);
      expect((await api.put(`/v1/guardrails/${shared.slug}`, {}, { key: keyOfTwo })).status).toBe(403);
      expect((await api.delete(`/v1/guardrails/${shared.slug}`, { key: keyOfTwo })).status).toBe(403);
      const forAll = { name: 'For all', checks: [contains()], organisation_id: organisation };
      expect((await api.post('/v1/guardrails', forAll, { key: keyOfTwo })).status).toBe(403);
      const listed = (await api.get('/v1/guardrails', { key: keyOfTwo })).json.data;
      expect(listed.map(({ id }: { id: string }) => id)).toContain(shared.id);
      expect(listed.map(({ id }: { id: string }) => id)).not.toContain(own.id);
      const foreign = await api.post('/v1/guardrails', { ...forAll, organisation_id: crypto.randomUUID() });
      expect([foreign.status, foreign.json.error.code]).toEqual([403, 'foreign_organisation']);
    },
  );

  on('a workspace goes with its guardrails', async () => {
    const { api, given } = gateway;
    const workspace = await given.workspace({ name: 'Short-lived' });
    const { id } = await made({ name: 'Goes along', workspace_id: workspace.id });

    const gone = await api.delete(`/v1/admin/workspaces/${workspace.id}`);

    expect(gone.status).toBe(200);
    expect((await api.get(`/v1/guardrails/${id}`)).status).toBe(404);
  });

  on('defaults name guardrails that are there and look at that side, and these cannot be deleted', async () => {
    const { api, given } = gateway;
    const organisation = (await api.get('/v1/admin/organisation')).json.id;
    const shared = await made({ name: 'Relied upon', organisation_id: organisation });
    const inputOnly = await made({
      name: 'Models',
      checks: [{ id: 'default.modelWhitelist', parameters: { models: ['*'] } }],
      organisation_id: organisation,
    });
    const local = await made({ name: 'Local' });

    const unknown = await api.put('/v1/admin/organisation/defaults', { input_guardrails: ['nope'] });
    expect([unknown.status, unknown.json.error.code]).toEqual([400, 'unknown_guardrail']);
    const misplaced = await api.put('/v1/admin/organisation/defaults', { output_guardrails: [inputOnly.slug] });
    expect([misplaced.status, misplaced.json.error.param]).toEqual([400, 'output_guardrails']);
    const tooNear = await api.put('/v1/admin/organisation/defaults', { input_guardrails: [local.slug] });
    expect(tooNear.json.error.code).toBe('unknown_guardrail');
    const named = await api.put('/v1/admin/organisation/defaults', { output_guardrails: [shared.id] });
    expect(named.json).toEqual({ input_guardrails: [], output_guardrails: [shared.id] });
    expect((await api.get('/v1/admin/organisation/defaults')).json).toEqual(named.json);

    const relied = await api.delete(`/v1/guardrails/${shared.slug}`);
    expect([relied.status, relied.json.error.code]).toEqual([400, 'guardrail_in_use']);
    expect(relied.json.error.message).toContain('the organisation');
    await api.put('/v1/admin/organisation/defaults', { output_guardrails: [] });
    const workspace = await given.workspace({ name: 'Named', defaults: { input_guardrails: [shared.slug] } });
    expect((await api.delete(`/v1/guardrails/${shared.slug}`)).json.error.message).toContain('workspace Named');
    await api.put(`/v1/admin/workspaces/${workspace.id}`, { defaults: {} });
    const key = await given.apiKey({ defaults: { input_guardrails: [local.slug] } });
    expect((await api.delete(`/v1/guardrails/${local.slug}`)).json.error.message).toContain('API key test');
    const foreign = await api.put(`/v1/api-keys/${key.id}`, { defaults: { output_guardrails: ['nope'] } });
    expect([foreign.status, foreign.json.error.code]).toEqual([400, 'unknown_guardrail']);
    await api.delete(`/v1/api-keys/${key.id}`);
    expect((await api.delete(`/v1/guardrails/${local.slug}`)).status).toBe(200);
    expect((await api.delete(`/v1/guardrails/${shared.slug}`)).status).toBe(200);
  });

  on(
    'a guardrail is tried on a text before it is stored, its checks are described, and who names it is listed',
    async () => {
      const { api, given } = gateway;
      const known = await api.get('/v1/guardrail-checks');
      const words = known.json.data.find(({ id }: { id: string }) => id === 'default.contains');
      expect(words).toMatchObject({ on: ['input', 'output'], parameters: { required: ['words'] } });

      const pii = { id: 'default.pii', parameters: { redact: true } };
      const draft = { checks: [pii, contains()], actions: { deny: true, sequential: true } };
      const attempt = (guardrail: unknown, side: string, text: string) =>
        api.post('/v1/guardrails/try', { guardrail, on: side, text });
      const fine = await attempt(draft, 'output', 'Write to mia@example.com');
      expect(fine.json).toMatchObject({ verdict: true, denied: false, transformed: true, stream: 'whole' });
      expect(fine.json.text).toBe('Write to {{EMAIL_ADDRESS_1}}');
      const { slug } = await made({ name: 'On the bench', ...draft });
      const denied = await attempt(slug, 'input', 'a forbidden word');
      expect(denied.json).toMatchObject({
        verdict: false,
        denied: true,
        checks: [{ verdict: true }, { verdict: false }],
      });
      const wrong = await attempt({ checks: [{ id: 'default.contains' }] }, 'input', '');
      expect([wrong.status, wrong.json.error.param]).toEqual([400, 'checks[0].parameters.words']);

      const key = await given.apiKey({ defaults: { output_guardrails: [slug] } });
      const config = { virtual_key: 'sim', strategy: { mode: 'single' }, targets: [{ input_guardrails: [slug] }] };
      await api.post('/v1/configs', { name: 'Careful', config });
      expect((await api.get(`/v1/guardrails/${slug}/uses`)).json.data).toEqual([
        { kind: 'api_key', id: key.id, name: 'test', on: ['output'] },
        { kind: 'config', id: 'careful', name: 'Careful', on: ['input'] },
      ]);
    },
  );

  on('a guardrail is tried on a stream in pieces, and what a client would have got is shown', async () => {
    const { api } = gateway;
    const stream = async (guardrail: object, pieces: readonly string[]) => {
      const reply = await api.post('/v1/guardrails/try', { guardrail, on: 'output', pieces });
      expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
      return reply.json as { text: string; ends: string; steps: { said: string; given: string; held: number }[] };
    };
    const given = ({ steps }: Awaited<ReturnType<typeof stream>>) => steps.map((step) => step.given);
    const inWindows = { deny: true, stream: 'window' };
    const long = 'The weather is fine today, and it will stay so until the end of the week. '.match(/.{1,6}/gs)!;

    const passed = await stream({ checks: [contains(['walrus'])], actions: inWindows }, long);
    expect(passed).toMatchObject({ ends: 'whole', text: long.join(''), verdict: true, denied: false });
    // It flows: some of it was there before the end, and none before it was looked at.
    expect(given(passed).slice(0, -1).join('').length).toBeGreaterThan(0);
    expect(given(passed)[0]).toBe('');
    expect(passed.steps).toHaveLength(long.length + 1);
    expect(passed.steps.at(-1)).toMatchObject({ said: '', held: 0 });

    const cut = await stream({ checks: [contains(['walrus'])], actions: inWindows }, [
      ...long,
      'a wal',
      'rus ',
      ...long,
    ]);
    expect(cut).toMatchObject({ ends: 'cut', verdict: false, denied: true });
    expect(cut.text.length).toBeGreaterThan(0);
    expect(cut.text).not.toContain('rus');

    const refused = await stream({ checks: [contains(['walrus'])], actions: inWindows }, ['wal', 'rus']);
    expect(refused).toMatchObject({ ends: 'refused', text: '', denied: true });

    const held = await stream({ checks: [contains(['walrus'])], actions: { deny: true } }, ['good ', 'day']);
    expect(held).toMatchObject({ ends: 'whole', text: 'good day', stream: 'whole' });
    expect(given(held)).toEqual(['', '', 'good day']);
    expect(held.steps.map((step) => step.held)).toEqual([5, 8, 0]);

    const marked = await stream({ checks: [contains(['walrus'])] }, ['a wal', 'rus']);
    expect(marked).toMatchObject({ ends: 'whole', verdict: false, denied: false, stream: 'nothing' });
    expect(given(marked)).toEqual(['a wal', 'rus', '']);

    const replace = { id: 'default.regexReplace', parameters: { rule: 'wal\\w+', redactText: '#' } };
    const changed = await stream({ checks: [replace], actions: {} }, ['a wal', 'rus here']);
    expect(changed).toMatchObject({ ends: 'whole', transformed: true, text: 'a # here' });

    const refusal = async (body: object) => {
      const reply = await api.post('/v1/guardrails/try', {
        guardrail: { checks: [contains()] },
        on: 'output',
        ...body,
      });
      return [reply.status, reply.json.error.param];
    };
    expect(await refusal({})).toEqual([400, 'text']);
    expect(await refusal({ text: 'a', pieces: ['a'] })).toEqual([400, 'pieces']);
    expect(await refusal({ on: 'input', pieces: ['a'] })).toEqual([400, 'pieces']);
    expect(await refusal({ pieces: [] })).toEqual([400, 'pieces']);
    expect(await refusal({ pieces: ['a', ''] })).toEqual([400, 'pieces[1]']);
    expect(await refusal({ pieces: ['a'.repeat(20_001)] })).toEqual([400, 'pieces']);
  });
}
