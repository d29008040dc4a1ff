import { type ReadMessage, refused } from '../message/message.ts';
import { RPC } from '../message/rpc-error.ts';
import type { McpServer } from '../server/server.ts';
import type { Channels } from './channels.ts';
import { type Client, type Relay, sendVia } from './conversation.ts';
import type { Questions } from './questions.ts';
import { replaced } from './routing.ts';

export interface AnsweringDeps {
  readonly relay: Relay;
  readonly channels: Pick<Channels, 'say'>;
  readonly questions: Questions;
}

const INTERNAL_ERROR = -32_603;

/** Carries a client's answer to the server that has asked, into the conversation in which it waits. */
export const createAnswering =
  ({ relay, channels, questions }: AnsweringDeps) =>
  async (client: Client, message: ReadMessage, body: Uint8Array, servers: readonly McpServer[]): Promise<Response> => {
    const question = questions.open(client, message.id);
    const server = question && servers.find(({ id }) => id === question.serverId);
    if (!question || !server)
      throw refused('it answers no question that was asked in this session', RPC.invalidRequest);
    const { channel, id } = question;
    const answer = { method: '', name: null, body: replaced(body, ['id'], JSON.stringify(id)) };
    const { signal } = client.call.request;
    try {
      const response = await sendVia(relay, { server, client, channel, message: answer, signal, isQuiet: false });
      await response.body?.cancel();
    } catch (failure) {
      // The server waits. What it may not be told, it is told so.
      const error = { code: INTERNAL_ERROR, message: 'The answer could not be passed on.' };
      await channels.say(server, client, channel, { id, error }).catch(() => {});
      throw failure;
    }
    return new Response(null, { status: 202 });
  };
