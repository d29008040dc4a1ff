import type OpenAI from 'openai';
import type { TestGateway } from '../gateway.ts';
import { openaiClient } from '../sdk-clients.ts';
import * as schemas from './schemas.ts';
import {
  type ChatRequest,
  type ScriptedAnswer,
  type ScriptedProvider,
  startScriptedProvider,
} from './scripted-provider.ts';

export const weather = {
  type: 'function' as const,
  function: { name: 'get_weather', description: 'The weather.', parameters: { type: 'object', properties: {} } },
};
export const time = { type: 'function' as const, function: { name: 'get_time' } };

/** The vendor's client on a key that calls the provider behind a virtual key. */
export async function clientFor({ url, given }: Pick<TestGateway, 'url' | 'given'>, virtualKey = 'sim') {
  const { key } = await given.apiKey({ defaults: { virtual_key: virtualKey } });
  return { openai: openaiClient(url, key), key: key as string };
}

export interface Asked {
  readonly assistant?: Partial<OpenAI.Beta.AssistantCreateParams>;
  readonly said?: string | readonly string[];
}

/** An assistant, and a thread in which something was said. */
export async function conversation(openai: OpenAI, { assistant = {}, said = 'Hello' }: Asked = {}) {
  const { id: assistant_id } = await openai.beta.assistants.create({ model: 'gpt-5', ...assistant });
  const { id: thread_id } = await openai.beta.threads.create({
    messages: [said].flat().map((content) => ({ role: 'user' as const, content })),
  });
  return { assistant_id, thread_id };
}

/** A provider of the test's own behind the virtual key `scripted`. */
export async function scripted(
  gateway: Pick<TestGateway, 'url' | 'given'>,
  script: (request: ChatRequest, number: number) => ScriptedAnswer,
): Promise<{ openai: OpenAI; key: string; provider: ScriptedProvider; slug: string }> {
  const provider = startScriptedProvider(script);
  const { slug } = await gateway.given.virtualKey({ name: 'scripted', custom_host: provider.url });
  return { ...(await clientFor(gateway, slug)), provider, slug };
}

/** What the vendor's client adds to the answer. */
const answered = ({ _request_id: _, ...value }: Record<string, unknown>) => value;

export const checkRun = (value: object) => schemas.run.parse(answered(value as Record<string, unknown>));
export const checkStep = (value: object) => schemas.step.parse(answered(value as Record<string, unknown>));
export const checkMessage = (value: object) => schemas.message.parse(answered(value as Record<string, unknown>));

/** The thread as a reader sees it: each message with its status and text, oldest first. */
export async function historyOf(openai: OpenAI, threadId: string): Promise<string[]> {
  const history: string[] = [];
  for await (const message of openai.beta.threads.messages.list(threadId, { order: 'asc' })) {
    checkMessage(message);
    const text = message.content
      .map((block) => (block.type === 'text' ? block.text.value : `[${block.type}]`))
      .join('');
    history.push(`${message.role} ${message.status}: ${text}`);
  }
  return history;
}

/** The steps of a run, oldest first: their kind and status, and the calls with their outputs. */
export async function stepsOf(openai: OpenAI, threadId: string, runId: string): Promise<string[]> {
  const steps: string[] = [];
  for await (const step of openai.beta.threads.runs.steps.list(runId, { thread_id: threadId, order: 'asc' })) {
    checkStep(step);
    const details = step.step_details;
    const calls =
      details.type === 'tool_calls'
        ? details.tool_calls.map((call) =>
            call.type === 'function'
              ? ` ${call.function.name}(${call.function.arguments}) = ${call.function.output}`
              : ` ${call.type}`,
          )
        : [];
    steps.push(`${step.type} ${step.status}${calls.join('')}`);
  }
  return steps;
}
