import { expect } from 'bun:test';
import { startProvider } from './gateway.ts';
import { type Live, type LiveEvent, openLive } from './live-client.ts';
import { eventually, forTests, type GatewayProcess, newDataDir, removeDataDir, startProcess } from './process.ts';

const MANY = 1_000_000;

interface Counts {
  /** Responses that were asked for. */
  asked: number;
  /** Responses that the provider has begun. */
  begun: number;
}

/** How a conversation is held, in a dialect. */
interface Tongue {
  readonly provider: string;
  readonly path: string;
  readonly first: object | null;
  readonly say: (text: string) => readonly object[];
  readonly isOpen: (event: LiveEvent) => boolean;
  readonly begins: (event: LiveEvent) => boolean;
  readonly ends: (event: LiveEvent) => boolean;
}

const TONGUES = {
  openai: {
    provider: 'openai',
    path: '/v1/realtime?model=gpt-realtime',
    first: null,
    say: (text) => [
      {
        type: 'conversation.item.create',
        item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
      },
      { type: 'response.create' },
    ],
    isOpen: ({ type }) => type === 'session.created',
    begins: ({ type }) => type === 'response.created',
    ends: ({ type }) => type === 'response.done',
  },
  gemini: {
    provider: 'google',
    path: '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent',
    first: { setup: { model: 'models/gemini-live', generationConfig: { responseModalities: ['TEXT'] } } },
    say: (text) => [{ clientContent: { turns: [{ role: 'user', parts: [{ text }] }], turnComplete: true } }],
    isOpen: ({ setupComplete }) => setupComplete !== undefined,
    begins: ({ serverContent }) => serverContent?.modelTurn !== undefined,
    ends: ({ serverContent }) => serverContent?.turnComplete === true,
  },
} satisfies Record<string, Tongue>;

interface Killed {
  readonly sessions: number;
  readonly kills: number;
  readonly tongue?: keyof typeof TONGUES;
}

/**
 * Conversations on a gateway that is killed now and then, each time while all of them have a response under way. Every response
 * that the provider has begun is counted, and none twice: also those that had ended, and those that died.
 */
export async function killedConversations({ sessions, kills, tongue: name = 'openai' }: Killed): Promise<void> {
  const tongue: Tongue = TONGUES[name];
  const dataDir = newDataDir();
  const provider = startProvider();
  let gateway = await startProcess({ dataDir, environment: forTests });
  await gateway.given.virtualKey(provider.url, 'vendor', tongue.provider);
  const limit = { rate_limits: [{ type: 'requests', unit: 'rpw', value: MANY }], defaults: { virtual_key: 'vendor' } };
  const { id, key } = (await gateway.api.post('/v1/api-keys', { name: 'counted', ...limit })).json;
  const counts: Counts = { asked: 0, begun: 0 };
  const perRound = Math.ceil(sessions / kills);
  for (let round = 0; round < kills; round++) {
    const talks = await Promise.all(Array.from({ length: perRound }, () => converse(gateway, key, tongue)));
    await Promise.all(
      talks.map(async (talk) => {
        talk.ask(counts, 'Hello');
        await talk.heard(tongue.ends);
        counts.begun++;
      }),
    );
    for (const talk of talks) talk.ask(counts, 'Slow. [[simulate: length=100000, chunk-delay=50]]');
    await Promise.all(talks.map((talk) => talk.heard(tongue.begins)));
    counts.begun += talks.length;
    await gateway.kill();
    await Promise.all(talks.map(({ closed }) => closed));
    gateway = await startProcess({ dataDir, environment: forTests });
  }
  // A call of another provider shows what the key has left.
  await gateway.given.virtualKey(provider.url, 'plain');
  await gateway.api.put(`/v1/api-keys/${id}`, { defaults: { virtual_key: 'plain' } });
  const last = await gateway.api.post(
    '/v1/chat/completions',
    { model: 'm', messages: [{ role: 'user', content: 'Hi' }] },
    { key },
  );
  expect(last.status).toBe(200);
  const counted = MANY - Number(last.headers.get('x-ratelimit-remaining-requests')) - 1;
  expect(counts.begun).toBe(counts.asked);
  expect(counted).toBe(counts.begun);
  await gateway.stop();
  provider.stop();
  removeDataDir(dataDir);
}

async function converse({ url }: GatewayProcess, key: string, tongue: Tongue) {
  const live: Live = await openLive(url, { key, path: tongue.path });
  if (tongue.first) live.send(tongue.first);
  let seen = 0;
  const heard = async (isMeant: (event: LiveEvent) => boolean): Promise<void> => {
    await eventually('that is heard', () => {
      const at = live.heard.slice(seen).findIndex((frame) => isMeant(read(frame)));
      if (at >= 0) seen += at + 1;
      return at >= 0;
    });
  };
  await heard(tongue.isOpen);
  return {
    closed: live.closed,
    heard,
    ask: (counts: Counts, text: string): void => {
      for (const frame of tongue.say(text)) live.send(frame);
      counts.asked++;
    },
  };
}

/** Google sends its JSON in binary frames. */
const read = (frame: LiveEvent): LiveEvent =>
  frame instanceof ArrayBuffer || ArrayBuffer.isView(frame)
    ? JSON.parse(new TextDecoder().decode(frame as ArrayBuffer))
    : frame;
