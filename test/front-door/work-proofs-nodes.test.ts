import { expect, test } from 'bun:test';
import { spoken, startIssuer } from '../attack/guardrail/scene.ts';
import { startNode } from '../nodes.ts';
import { createDatabase } from '../postgres.ts';
import { eventually, forTests, newDataDir, removeDataDir, startProcess } from '../process.ts';
import { startRecorder } from '../recorder.ts';
import { query } from '../state-tables.ts';

const ENCRYPTED = { ...forTests, GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64') };

for (const engine of ['sqlite', 'postgres'] as const)
  test(`a run on ${engine} goes on where it was killed, by the claims of a token that has expired`, async () => {
    const provider = startRecorder();
    const issuer = await startIssuer();
    const home = newDataDir();
    const databaseUrl = engine === 'postgres' ? await createDatabase() : null;
    const node = () => (databaseUrl ? startNode(databaseUrl) : startProcess({ dataDir: home, environment: ENCRYPTED }));
    const first = await node();
    const { api } = first;
    await first.given.virtualKey(`${provider.origin}/v1`);
    const parameters = { jwks: issuer.jwks, headerKey: 'x-user-token', clockTolerance: 0, extractClaims: ['sub'] };
    const checks = [{ id: 'default.jwt', parameters }];
    const organisation_id = (await api.get('/v1/admin/organisation')).json.id;
    const guardrail = { name: 'Users', checks, actions: { deny: true }, organisation_id };
    const { slug } = (await api.post('/v1/guardrails', guardrail)).json;
    const defaults = { input_guardrails: [slug] };
    expect((await api.put('/v1/admin/organisation/defaults', defaults)).status).toBe(200);
    const headers = { 'x-gateway-virtual-key': 'sim', 'x-user-token': await issuer.token({ sub: 'ada' }, 4) };
    const assistant_id = (await api.post('/v1/assistants', { model: 'm' }, { headers })).json.id;
    // The first node never hears an answer.
    provider.answers(() => new Promise(() => {}));
    const thread = { messages: [{ role: 'user', content: 'x' }] };
    const run = (await api.post('/v1/threads/runs', { assistant_id, thread }, { headers })).json;
    await eventually('the model is called', () => provider.requests.length === 1);

    await first.kill();
    provider.answers(() => spoken('hello', true));
    await Bun.sleep(4_000);
    const second = await node();
    // The test does not wait for the lease of a node that is known to be dead.
    if (databaseUrl) await query({ dataDir: home, databaseUrl }, 'update work set lease_until = 0');
    let left: { status?: string; last_error?: unknown } = {};
    await eventually('the run has ended', async () => {
      left = (await second.api.get(`/v1/threads/${run.thread_id}/runs/${run.id}`, { headers })).json;
      return left.status === 'completed' || left.status === 'failed';
    });

    expect([left.status, left.last_error]).toEqual(['completed', null]);
    expect(provider.requests.map((request) => request.headers.get('x-jwt-sub'))).toEqual(['ada', 'ada']);
    const again = await second.api.post('/v1/threads/runs', { assistant_id, thread }, { headers });
    expect([again.status, again.json.error?.code]).toEqual([446, 'guardrail_denied']);
    await second.kill();
    provider.stop();
    removeDataDir(home);
  });
