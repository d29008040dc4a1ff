import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { type StartOptions, startGateway } from '../../gateway.ts';
import { startRecorder } from '../../recorder.ts';

type Json = Readonly<Record<string, unknown>>;

/** A gateway before a provider that is recorded, and keys whose guardrails the operator imposes. */
export async function startScene(options: StartOptions = {}) {
  const provider = startRecorder();
  const gateway = await startGateway(options);
  const { api, given } = gateway;
  await given.virtualKey({ slug: 'recorded', custom_host: `${provider.origin}/v1` });

  const guardrail = async (checks: Json, actions: Json = {}): Promise<string> => {
    const list = Object.entries(checks).map(([id, parameters]) => ({ id: `default.${id}`, parameters }));
    const made = await api.post('/v1/guardrails', { name: 'Imposed', checks: list, actions });
    if (made.status !== 200) throw new Error(made.text);
    return made.json.slug;
  };

  return {
    api,
    given,
    gateway,
    provider,
    guardrail,
    /** A key with these guardrails among its defaults. */
    keyWith: async (defaults: Json, more: Json = {}): Promise<string> =>
      (await given.apiKey({ defaults: { virtual_key: 'recorded', ...defaults }, ...more })).key,
    /** A chat whose caller brings a config of its own. */
    chat: (key: string, config: Json | null, body: Json | string, headers: Record<string, string> = {}) =>
      api.post(
        '/v1/chat/completions',
        { model: 'm', ...(typeof body === 'string' ? { messages: [{ role: 'user', content: body }] } : body) },
        {
          key,
          headers: {
            ...(config && { 'x-gateway-config': JSON.stringify({ virtual_key: 'recorded', ...config }) }),
            ...headers,
          },
        },
      ),
    /** A model that says the text, in small pieces where a stream is asked for. */
    says: (text: string) => provider.answers(({ json }) => spoken(text, json?.stream === true)),
    stop: async () => {
      await gateway.stop();
      provider.stop();
    },
  };
}

export type Scene = Awaited<ReturnType<typeof startScene>>;

export function spoken(text: string, isStream: boolean): Response {
  const head = { id: 'c', created: 1, model: 'm' };
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  if (!isStream) {
    const choices = [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }];
    return Response.json({ ...head, object: 'chat.completion', usage, choices });
  }
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...{ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] },
  });
  const pieces = (text.match(/.{1,3}/gs) ?? []).map((content) => chunk({ content }));
  return streamed([...pieces, chunk({}, 'stop')]);
}

export const streamed = (events: readonly object[]): Response =>
  new Response(
    [...events.map((event) => JSON.stringify(event)), '[DONE]'].map((data) => `data: ${data}\n\n`).join(''),
    {
      headers: { 'content-type': 'text/event-stream' },
    },
  );

/** The texts of a stream of chat chunks, put together. */
export const saidIn = (stream: string): string =>
  stream
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)).choices?.[0]?.delta?.content ?? '')
    .join('');

/** An issuer that signs tokens. */
export async function startIssuer() {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256' }] };
  const token = (claims: Json, lifetimeSeconds = 600) =>
    new SignJWT({ ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: 'one' })
      .setIssuedAt()
      .setExpirationTime(Math.floor(Date.now() / 1_000) + lifetimeSeconds)
      .sign(privateKey);
  return { jwks, token };
}
