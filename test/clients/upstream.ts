import { type ChatCompletionRequest, LLMock } from '@copilotkit/aimock';
import { createSimulator } from '../../simulator/simulator.ts';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { type Place, UPSTREAMS, type Upstream } from './client.ts';

export const MODELS: Readonly<Record<Upstream, string>> = {
  openai: 'gpt-4o',
  anthropic: 'claude-sonnet-4-5',
  google: 'gemini-2.5-flash',
};
const EMBEDDING_MODELS: Readonly<Record<Upstream, string>> = {
  openai: 'text-embedding-3-small',
  anthropic: 'claude-sonnet-4-5',
  google: 'gemini-embedding-001',
};

/** What is said to the models, and what they answer. */
export const SAID = { hello: 'hello there', weather: 'weather please', person: 'a person', picture: 'what is it' };
export const ANSWER = 'Grüezi from a provider that is not ours.';
export const SEEN = 'It is a small dot.';
export const ADA = { name: 'Ada', age: 36 };
const DIMENSIONS: Readonly<Record<Upstream, number>> = { openai: 1_536, anthropic: 0, google: 3_072 };

export interface Stage {
  readonly gateway: TestGateway;
  place(upstream: Upstream): Place;
  /** The last body that reached the provider. */
  readonly last: unknown;
  readonly dimensions: typeof DIMENSIONS;
  stop(): Promise<void>;
}

/**
 * A gateway in front of three providers that others have written (aimock), and a server between them that remembers what
 * passes. Embeddings are the simulator's: aimock has neither batches of Google's nor those in base64, which `openai` asks for.
 */
export async function openStage(): Promise<Stage> {
  const mock = await LLMock.create({ port: 0, host: '127.0.0.1', chunkSize: 4 });
  mock.onMessage(SAID.hello, { content: ANSWER });
  mock.onMessage(SAID.picture, { content: SEEN });
  mock.on({ userMessage: SAID.weather, hasToolResult: true }, { content: 'It rains.' });
  mock.on({ userMessage: SAID.weather }, (request) => ({ toolCalls: [weatherCall(namesIn(request))] }));
  // Some clients have a function called for an object of a schema.
  mock.on({ userMessage: SAID.person }, (request) => {
    const content = JSON.stringify(ADA);
    const names = namesIn(request);
    const name = names.find((each) => each === 'StructuredOutput') ?? names[0];
    return name === undefined || names.includes(CODEX_SHELL)
      ? { content }
      : { toolCalls: [{ name, arguments: content }] };
  });
  const { simulate } = createSimulator();
  let last: unknown = null;
  const provider = serve(async (request) => {
    const { pathname, search } = new URL(request.url);
    const text = await request.text();
    const { method, headers } = request;
    last = JSON.parse(text || 'null');
    if (/embed/i.test(pathname)) return simulate(new Request(request.url, { method, headers, body: text }));
    const sent = new Headers(headers);
    for (const name of ['host', 'content-length', 'connection']) sent.delete(name);
    return fetch(new URL(pathname + search, mock.url), {
      method,
      headers: sent,
      body: text || undefined,
      keepalive: false,
    });
  });
  const gateway = await startGateway({ environment: { GATEWAY_HEADER_ALIASES: 'x-portkey-' } });
  const keys = {} as Record<Upstream, string>;
  for (const name of UPSTREAMS) {
    const custom_host = `${provider.origin}/${name === 'google' ? 'v1beta' : 'v1'}`;
    await gateway.given.virtualKey({ slug: name, provider: name, key: 'a-key', custom_host });
    keys[name] = (await gateway.given.apiKey({ defaults: { virtual_key: name } })).key;
  }
  return {
    gateway,
    place: (upstream) => ({
      url: gateway.url,
      key: keys[upstream],
      model: MODELS[upstream],
      embeddingModel: EMBEDDING_MODELS[upstream],
    }),
    get last() {
      return last;
    },
    dimensions: DIMENSIONS,
    stop: async () => {
      await gateway.stop();
      provider.stop();
      await mock.stop();
    },
  };
}

const namesIn = ({ tools = [] }: ChatCompletionRequest): string[] => tools.map((tool) => tool.function.name);

const CODEX_SHELL = 'exec_command';
const ECHO = 'echo get_weather Oslo';

/** Agents offer a shell of their own, other clients `get_weather`. */
function weatherCall(names: readonly string[]) {
  if (names.includes(CODEX_SHELL)) return { name: CODEX_SHELL, arguments: JSON.stringify({ cmd: ECHO }) };
  const bash = { command: ECHO, description: 'Says it.' };
  if (names.includes('Bash')) return { name: 'Bash', arguments: JSON.stringify(bash) };
  return { name: 'get_weather', arguments: '{"city":"Oslo"}' };
}

/** The picture in a body, where the provider's format has it. */
export function pictureIn(upstream: Upstream, body: unknown): unknown {
  if (body === null || typeof body !== 'object') return undefined;
  const own = SHAPES[upstream](body as Shape);
  if (own !== undefined) return own;
  for (const member of Object.values(body)) {
    const found = pictureIn(upstream, member);
    if (found !== undefined) return found;
  }
  return undefined;
}

// biome-ignore lint/suspicious/noExplicitAny: any node of a body
type Shape = any;

const PREFIX = 'data:image/png;base64,';
const SHAPES: Readonly<Record<Upstream, (node: Shape) => unknown>> = {
  // In a chat, and in a response.
  openai: ({ type, image_url }) => {
    const url = type === 'image_url' ? image_url.url : type === 'input_image' ? image_url : undefined;
    return url?.startsWith(PREFIX) ? url.slice(PREFIX.length) : undefined;
  },
  anthropic: ({ type, source }) =>
    type === 'image' && source.type === 'base64' && source.media_type === 'image/png' ? source.data : undefined,
  google: ({ inlineData }) => (inlineData?.mimeType === 'image/png' ? inlineData.data : undefined),
};
