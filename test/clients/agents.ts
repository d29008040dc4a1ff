import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Actions, type Client, PERSON, type Place } from './client.ts';

/** Programs of hundreds of megabytes, so they are no dependencies: the long tests fetch them when they first need them. */
const PACKAGES = ['@openai/codex@0.166.0', '@anthropic-ai/claude-code@2.1.325'];
const FOLDER = join(tmpdir(), 'gateway-clients');
const PLATFORM = `linux-${process.arch}`;
export const CODEX = join(FOLDER, 'node_modules/.bin/codex');
export const CLAUDE = join(FOLDER, `node_modules/@anthropic-ai/claude-code-${PLATFORM}/claude`);

export async function ensureInstalled(): Promise<void> {
  if (existsSync(CODEX) && existsSync(CLAUDE)) return;
  const install = ['npm', 'install', '--prefix', FOLDER, '--ignore-scripts', '--no-audit', '--no-fund', ...PACKAGES];
  const child = Bun.spawn(install, { stdout: 'ignore', stderr: 'pipe' });
  if ((await child.exited) !== 0) throw new Error(`npm: ${(await new Response(child.stderr).text()).slice(-500)}`);
}

// biome-ignore lint/suspicious/noExplicitAny: each program has events of its own
type Event = any;

interface Run {
  readonly command: readonly string[];
  readonly environment: Record<string, string>;
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  readonly input?: string;
}

/** Runs a program in an empty home, with no way out but to this machine, and gives the events that it prints. */
export async function eventsOf({ command, environment, files = {}, input = '' }: Run): Promise<Event[]> {
  const home = mkdtempSync(join(tmpdir(), 'gateway-agent-'));
  try {
    for (const [name, content] of Object.entries(files)) await Bun.write(join(home, name), content);
    const closed = 'http://127.0.0.1:9';
    const child = Bun.spawn([...command], {
      cwd: home,
      env: {
        ...{ PATH: process.env.PATH!, HOME: home, CODEX_HOME: home },
        ...{ HTTPS_PROXY: closed, HTTP_PROXY: closed, NO_PROXY: '127.0.0.1' },
        ...environment,
      },
      stdin: new Blob([input]),
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [out, problems] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    if ((await child.exited) !== 0) throw new Error(`${out.slice(-1_000)}\n${problems.slice(-1_000)}`);
    return out.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** The model has it run `echo get_weather Oslo`, so that a call of a tool goes all the way and back. */
const calledBy = (output: string) => {
  const [name = '', city] = output.trim().split(' ');
  return { name, args: { city } };
};

function codexActions({ url, key, model }: Place, { isLive = false } = {}): Actions {
  const config = `model = "${model}"
model_provider = "gateway"
[model_providers.gateway]
name = "gateway"
base_url = "${url}/v1"
env_key = "KEY"
wire_api = "responses"
${isLive ? 'supports_websockets = true\n' : ''}`;
  const run = (text: string, options: readonly string[] = [], files: Run['files'] = {}) =>
    eventsOf({
      command: [CODEX, 'exec', '--skip-git-repo-check', '--json', ...options, '--', text],
      environment: { KEY: key },
      files: { 'config.toml': config, ...files },
    });
  const textIn = (events: readonly Event[]): string =>
    events.findLast(({ item }) => item?.type === 'agent_message')?.item.text;
  return {
    chat: async (text) => textIn(await run(text)),
    tools: async (text) => {
      const events = await run(text, ['--dangerously-bypass-approvals-and-sandbox']);
      return calledBy(
        events.findLast(({ item }) => item?.type === 'command_execution' && item.status === 'completed').item
          .aggregated_output,
      );
    },
    schema: async (text) =>
      JSON.parse(
        textIn(await run(text, ['--output-schema', 'schema.json'], { 'schema.json': JSON.stringify(PERSON) })),
      ),
    image: async (text, picture) =>
      textIn(await run(text, ['-i', 'dot.png'], { 'dot.png': Buffer.from(picture, 'base64') })),
  };
}

function claudeActions({ url, key, model }: Place): Actions {
  const run = (content: string | object[], options: readonly string[] = []) =>
    eventsOf({
      command: [
        ...[CLAUDE, '-p', '--verbose', '--model', model],
        ...['--input-format', 'stream-json', '--output-format', 'stream-json', ...options],
      ],
      environment: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: key,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      },
      input: `${JSON.stringify({ type: 'user', message: { role: 'user', content } })}\n`,
    });
  const endOf = (events: readonly Event[]): Event => events.findLast(({ type }) => type === 'result');
  return {
    chat: async (text) => endOf(await run(text)).result,
    tools: async (text) => {
      const events = await run(text, ['--allowedTools', 'Bash']);
      const results = events.flatMap(({ type, message }) => (type === 'user' ? message.content : []));
      return calledBy(results.find((block: Event) => block.type === 'tool_result').content);
    },
    schema: async (text) => endOf(await run(text, ['--json-schema', JSON.stringify(PERSON)])).structured_output,
    image: async (text, data) => {
      const source = { type: 'base64', media_type: 'image/png', data };
      return endOf(
        await run([
          { type: 'image', source },
          { type: 'text', text },
        ]),
      ).result;
    },
  };
}

const WITHOUT = {
  stream: 'It streams every call by itself, and shows a text when it is whole.',
  embeddings: 'It has no use for them.',
};

export const agentClients: readonly Client[] = [
  {
    name: '`@openai/codex` 0.166',
    address: 'base_url = "$GATEWAY/v1"',
    key: '`env_key`, in a [provider of `config.toml`](calling-models.md#between-two-formats)',
    without: WITHOUT,
    open: async (place) => {
      await ensureInstalled();
      return codexActions(place);
    },
  },
  {
    name: '`@openai/codex` 0.166, over WebSocket',
    address: 'base_url = "$GATEWAY/v1"',
    key: '`env_key`, and [`supports_websockets`](calling-models.md#over-websocket) beside it',
    without: WITHOUT,
    open: async (place) => {
      await ensureInstalled();
      return codexActions(place, { isLive: true });
    },
  },
  {
    name: '`@anthropic-ai/claude-code` 2.1',
    address: 'ANTHROPIC_BASE_URL=$GATEWAY',
    key: '`ANTHROPIC_API_KEY`',
    without: WITHOUT,
    open: async (place) => {
      await ensureInstalled();
      return claudeActions(place);
    },
  },
];
