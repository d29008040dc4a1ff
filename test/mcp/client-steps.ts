import { Client as NewerClient, StreamableHTTPClientTransport as NewerTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/** What a client is asked to do at an address of the gateway, in this order. */
export const STEPS = ['connect', 'list', 'call', 'denied', 'limited', 'parallel', 'again'] as const;
export type Step = (typeof STEPS)[number];

export interface Place {
  readonly url: string;
  readonly key: string;
  /** Of the names of tools. */
  readonly prefix: string;
}

/** An official client, as far as the steps go. */
interface Connection {
  tools(): Promise<string[]>;
  /** Throws when the tool says that it failed. */
  call(name: string, given: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
}

const info = { name: 'check', version: '1.0.0' };
interface Called {
  readonly isError?: boolean | undefined;
  readonly content?: unknown;
}
function textOf({ isError, content }: Called): string {
  const text = (content as { text: string }[])[0]?.text ?? '';
  if (isError) throw new Error(text);
  return text;
}

/** Connects a client of the first line, or of the second, which takes the newest version that it is given. */
export const CLIENTS: Readonly<Record<'typescript-1' | 'typescript-2', (place: Place) => Promise<Connection>>> = {
  'typescript-1': async ({ url, key }) => {
    const client = new OlderClient(info);
    const requestInit = { headers: { 'x-gateway-api-key': key } };
    await client.connect(new OlderTransport(new URL(url), { requestInit }) as Parameters<typeof client.connect>[0]);
    return {
      tools: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: async (name, given) => textOf((await client.callTool({ name, arguments: given })) as Called),
      close: () => client.close(),
    };
  },
  'typescript-2': async ({ url, key }) => {
    const client = new NewerClient(info, { versionNegotiation: { mode: 'auto' } });
    const requestInit = { headers: { 'x-gateway-api-key': key } };
    await client.connect(new NewerTransport(new URL(url), { requestInit }));
    return {
      tools: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: async (name, given) => textOf(await client.callTool({ name, arguments: given })),
      close: () => client.close(),
    };
  },
};

const must = (isSo: boolean, what: string) => {
  if (!isSo) throw new Error(what);
};
const isRefused = (work: Promise<unknown>) =>
  work.then(
    () => false,
    () => true,
  );
const PARALLEL = 100;

/** Does one step after the other. Each answers a note, or throws what went wrong. */
export function stepsOf(open: (place: Place) => Promise<Connection>, place: Place) {
  const { prefix } = place;
  let client: Connection;
  const echo = async (said = 'hello') => must((await client.call(`${prefix}echo`, { said })) === said, 'another echo');
  const steps: Readonly<Record<Step, () => Promise<string>>> = {
    connect: async () => {
      client = await open(place);
      return 'ok';
    },
    list: async () => {
      const names = await client.tools();
      must(names.includes(`${prefix}echo`), `echo is not among ${names}`);
      must(!names.includes(`${prefix}secret`), 'a tool that is switched off is listed');
      return 'ok';
    },
    call: async () => {
      await echo();
      return 'ok';
    },
    denied: async () => {
      must(await isRefused(client.call(`${prefix}secret`, {})), 'a tool that is switched off was called');
      await echo();
      return 'ok';
    },
    limited: async () => {
      const refusals: boolean[] = [];
      for (let time = 0; time < 3; time++) refusals.push(await isRefused(client.call(`${prefix}limited`, {})));
      must(refusals.at(-1) === true, 'a limit did not hold');
      await echo();
      return 'ok';
    },
    parallel: async () => {
      await Promise.all(Array.from({ length: PARALLEL }, (_, index) => echo(`number ${index}`)));
      return 'ok';
    },
    /** After a restart: in the same session, or in a new one. */
    again: async () => {
      try {
        await echo('again');
        return 'ok';
      } catch (error) {
        await client.close().catch(() => {});
        client = await open(place);
        await echo('anew');
        return `new session: ${(error as Error).message}`;
      }
    },
  };
  return { steps, close: async () => client?.close().catch(() => {}) };
}
