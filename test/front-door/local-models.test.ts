import { afterAll, expect, test } from 'bun:test';
import { offerLocalModels } from '../../src/cli/find-local-models.ts';
import { ADMIN_KEY } from '../gateway.ts';
import { runGateway, startProcess } from '../process.ts';

/** Model servers of this machine: found at the start, reached by one setting, and not without it. */

const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => Response.json({ object: 'list', data: [] }) });
const page = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('<html>') });
afterAll(() => Promise.all([server.stop(true), page.stop(true)]));
const at = (slug: string, port: number) => ({ slug, title: slug.toUpperCase(), provider: 'openai', port });

test('a model server that runs is offered with the switch that lets the gateway call it', async () => {
  const servers = [at('one', server.port!), at('two', page.port!), at('three', 9)];
  expect(await offerLocalModels(servers)).toBe(
    `ONE runs on 127.0.0.1:${server.port}. To call it through the gateway, start with GATEWAY_LOCAL_MODELS=one`,
  );
  expect(await offerLocalModels(servers.slice(1))).toBeNull();
});

test('with the setting it has a virtual key, and its port alone may be called', async () => {
  const gateway = await startProcess({ environment: { GATEWAY_ADMIN_KEY: ADMIN_KEY, GATEWAY_LOCAL_MODELS: 'ollama' } });
  try {
    const { json } = await gateway.api.get('/v1/virtual-keys/ollama');
    expect(json).toMatchObject({ slug: 'ollama', provider: 'ollama', custom_host: 'http://127.0.0.1:11434/v1' });
    const body = { model: 'llama3.2', messages: [{ role: 'user', content: 'Hello' }] };
    const reply = await gateway.api.post('/v1/chat/completions', body, {
      headers: { 'x-gateway-virtual-key': 'ollama' },
    });
    // Whether one runs here or not: the call went out.
    expect(reply.json.error?.code).not.toBe('egress_refused');
    expect(reply.json.error?.message ?? '').not.toContain('virtual key');
    const other = await gateway.api.post('/v1/chat/completions', body, {
      headers: { 'x-gateway-provider': 'ollama', 'x-gateway-custom-host': 'http://127.0.0.1:11435/v1' },
    });
    expect(other.json.error.code).toBe('egress_refused');
  } finally {
    await gateway.stop();
  }
});

test('a server that is not known is refused at the start, with those that are', async () => {
  const { errors, exitCode } = await runGateway({ environment: { GATEWAY_LOCAL_MODELS: 'olama' } });
  expect(exitCode).toBe(1);
  expect(errors).toContain('GATEWAY_LOCAL_MODELS');
  expect(errors).toContain('give true, or some of ollama, lm-studio, vllm, llama-cpp');
});
