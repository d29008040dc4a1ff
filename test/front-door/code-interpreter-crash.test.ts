import { expect, test } from 'bun:test';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI from 'openai';
import { dataDirWithSnapshot, PREPARED_MS } from '../assistants/sandbox.ts';
import { startScriptedProvider } from '../assistants/scripted-provider.ts';
import { ADMIN_KEY } from '../gateway.ts';
import { eventually, forTests, startProcess } from '../process.ts';

/** The processes that a process has started. */
function childrenOf(parent: number): number[] {
  const numbers = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return numbers.map(Number).filter((pid) => parentOf(pid) === parent);
}

function parentOf(pid: number): number | null {
  try {
    const [state, parent] = readFileSync(join('/proc', String(pid), 'stat'), 'latin1')
      .split(') ')
      .at(-1)!
      .split(' ');
    return state === 'Z' ? null : Number(parent);
  } catch {
    return null;
  }
}

const clientOf = (url: string) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: ADMIN_KEY, defaultHeaders: { 'x-gateway-virtual-key': 'sim' } });

const QUICK = 'kept = "from before"\nopen("/mnt/data/quick.txt", "w").write("1")';
const SLOW =
  'import time\nuntil = time.time() + 4\nwhile time.time() < until: pass\nopen("slow.txt", "w").write(kept)\nkept';

test(
  'a gateway that is killed leaves no sandbox behind, and what it ran is done once',
  async () => {
    const dataDir = await dataDirWithSnapshot();
    const codes = [QUICK, SLOW];
    const provider = startScriptedProvider((_, number) => {
      const code = codes[number - 1];
      if (code === undefined) return { parts: [{ text: 'See sandbox:/mnt/data/slow.txt' }] };
      return { parts: [{ call: 'code_interpreter', arguments: JSON.stringify({ code }) }] };
    });
    const environment = { ...forTests, GATEWAY_DATA_DIR: dataDir };
    const first = await startProcess({ dataDir, environment });
    await first.given.virtualKey(provider.url);
    const openai = clientOf(first.url);
    const assistant = await openai.beta.assistants.create({ model: 'gpt-5', tools: [{ type: 'code_interpreter' }] });
    const thread = await openai.beta.threads.create({ messages: [{ role: 'user', content: 'Go.' }] });
    const run = await openai.beta.threads.runs.create(thread.id, { assistant_id: assistant.id });
    await eventually('the slow code runs', () => provider.requests.length === 2 && childrenOf(first.pid).length > 0);
    await Bun.sleep(300);
    const sandboxes = childrenOf(first.pid);
    await first.kill();

    expect(sandboxes).toHaveLength(1);
    await eventually('the sandbox is gone', () => sandboxes.every((pid) => parentOf(pid) === null));

    const second = await startProcess({ dataDir, environment });
    const again = clientOf(second.url);
    const retrieved = () => again.beta.threads.runs.retrieve(run.id, { thread_id: thread.id });
    await eventually('the run ends', async () => (await retrieved()).status === 'completed', 90_000);
    const steps = await again.beta.threads.runs.steps.list(run.id, { thread_id: thread.id, order: 'asc' });
    const logs = steps.data.flatMap(({ step_details: details }) =>
      details.type === 'tool_calls'
        ? details.tool_calls.map((call) => (call.type === 'code_interpreter' ? call.code_interpreter.outputs : null))
        : [],
    );
    const files = await again.files.list({ purpose: 'assistants_output' });
    await second.kill();
    provider.stop();
    rmSync(dataDir, { recursive: true, force: true });

    expect(logs).toEqual([[{ type: 'logs', logs: '1' }], [{ type: 'logs', logs: "'from before'" }]]);
    expect(files.data.map(({ filename }) => filename).sort()).toEqual(['quick.txt', 'slow.txt']);
  },
  PREPARED_MS,
);
