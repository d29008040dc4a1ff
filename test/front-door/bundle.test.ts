import { expect, test } from 'bun:test';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { ADMIN_KEY } from '../gateway.ts';
import { commands, eventually, root, startProcess } from '../process.ts';

test('the bundle answers, logs in its thread, and reads documents in a process of its own', async () => {
  const gateway = await startProcess({ command: commands.bundle });
  try {
    const headers = { 'x-gateway-virtual-key': 'demo' };
    const openai = new OpenAI({ apiKey: ADMIN_KEY, baseURL: `${gateway.url}/v1`, defaultHeaders: headers });
    const answer = await openai.chat.completions.create({
      model: 'demo',
      messages: [{ role: 'user', content: 'Hello' }],
    });
    expect(answer.choices[0]?.message.content).toContain('Hello');

    await eventually('the call is in the log', async () => {
      const { json: body } = await gateway.api.get('/v1/logs');
      return (body as { data: { path: string }[] }).data.some(({ path }) => path === '/v1/chat/completions');
    });
    const store = await openai.vectorStores.create({ name: 'papers' });
    const file = await openai.vectorStores.files.uploadAndPoll(store.id, new File(['Bread is baked.'], 'bread.md'));
    expect(file.status).toBe('completed');
    expect(await gateway.stop()).toBe(0);
  } finally {
    if (gateway.isAlive) await gateway.kill();
  }
});

test('the bundle tells languages apart, with what a thread of checks loads for it', async () => {
  const gateway = await startProcess({ command: commands.bundle });
  try {
    const headers = {
      'x-gateway-virtual-key': 'demo',
      'x-gateway-config': '{"input_guardrails":[{"default.language":{"language":"de"},"deny":true}]}',
    };
    const ask = async (content: string) =>
      (
        await gateway.api.post(
          '/v1/chat/completions',
          { model: 'demo', messages: [{ role: 'user', content }] },
          { headers },
        )
      ).status;
    expect(await ask('Kannst du mir bitte sagen, wie das Wetter morgen wird?')).toBe(200);
    expect(await ask('Could you please tell me how the weather will be tomorrow?')).toBe(446);
    expect(await gateway.stop()).toBe(0);
  } finally {
    if (gateway.isAlive) await gateway.kill();
  }
});

test('the bundle, which leaves out much of zod, still says in English what is wrong and describes every field', async () => {
  const gateway = await startProcess({ command: commands.bundle });
  try {
    const { status, json: refusal } = await gateway.api.post('/v1/api-keys', { name: 5 });
    expect(status).toBe(400);
    expect(refusal).toMatchObject({ error: { message: 'name: Invalid input: expected string, received number' } });
    const described = JSON.stringify((await gateway.api.get('/openapi.json')).json);
    expect(described).toContain('"expires_at"');
    expect(await gateway.stop()).toBe(0);
  } finally {
    if (gateway.isAlive) await gateway.kill();
  }
});

test('bin/gateway runs the bundle, and the sources when one of them is newer', async () => {
  const home = mkdtempSync(join(tmpdir(), 'gateway-home-'));
  try {
    for (const folder of ['bin', 'src', 'simulator', 'web', 'dist/bundle'])
      mkdirSync(join(home, folder), { recursive: true });
    cpSync(join(root, 'bin/gateway'), join(home, 'bin/gateway'));
    chmodSync(join(home, 'bin/gateway'), 0o755);
    symlinkSync(join(root, 'node_modules'), join(home, 'node_modules'));
    const files = ['package.json', 'src/main.ts', 'src', 'simulator', 'web'];
    writeFileSync(join(home, 'package.json'), '{}');
    writeFileSync(join(home, 'src/main.ts'), 'console.log("the sources")');
    writeFileSync(join(home, 'dist/bundle/main.js'), 'console.log("the bundle")');
    const says = async () => (await Bun.$`${join(home, 'bin/gateway')}`.quiet()).text();

    for (const file of files) utimesSync(join(home, file), 1_000, 1_000);
    expect(await says()).toBe('the bundle\n');
    utimesSync(join(home, 'src/main.ts'), new Date(), new Date(Date.now() + 5_000));
    expect(await says()).toBe('the sources\n');
    rmSync(join(home, 'dist'), { recursive: true });
    expect(await says()).toBe('the sources\n');
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
