import { dataOf, withData } from '../message/events.ts';
import type { RpcId } from '../message/rpc-error.ts';
import type { McpServer } from '../server/server.ts';
import { exposedUri } from '../tools/names.ts';
import { mayBeAsked } from './client-session.ts';
import { type Channel, type Client, isObject, type Json } from './conversation.ts';
import type { Questions } from './questions.ts';
import type { Change } from './rewriting.ts';

/** The other end of a stream. */
export interface Spoken {
  readonly server: McpServer;
  readonly client: Client;
  readonly channel: Channel;
}

export interface TranslatorDeps {
  readonly questions: Questions;
  /** Tells a server at once that its question is not answered; it would wait otherwise. */
  readonly answer: (spoken: Spoken, message: Json) => void;
  /** The server offers something else than before. */
  readonly changed: (server: McpServer) => void;
}

export interface Translated {
  /** Null: nothing of it is for the client. */
  readonly bytes: Uint8Array | null;
  /** The answer to a request, after which a stream has served its purpose. */
  readonly isAnswer: boolean;
}

/** What a stream says of itself between its messages. */
const OWN_LINES = /^(?:id|retry)(?::.*)?$/;
const LIST_CHANGED = /^notifications\/(?:tools|prompts|resources)\/list_changed$/;
const NO_METHOD = -32_601;

/** Turns the events of a server into those that its client understands: ids, addresses, and what is not for it. */
export const createTranslator =
  ({ questions, answer, changed }: TranslatorDeps) =>
  (spoken: Spoken, change: Change) => {
    const { server, client, channel } = spoken;
    const exposed = new Map<RpcId, string>();

    const question = (message: Json): Json | null => {
      const { id, method } = message as { id: RpcId; method: string };
      if (channel.kind === 'session' && mayBeAsked(client.capabilities, method)) {
        const name = questions.expose(server, client, channel, id);
        exposed.set(id, name);
        return { ...message, id: name };
      }
      const outcome =
        method === 'ping'
          ? { result: {} }
          : { error: { code: NO_METHOD, message: 'This client cannot be asked that.' } };
      answer(spoken, { jsonrpc: '2.0', id, ...outcome });
      return null;
    };

    const notification = (message: Json): Json | null => {
      const { method } = message;
      const params = isObject(message.params) ? message.params : {};
      if (typeof method === 'string' && LIST_CHANGED.test(method)) changed(server);
      if (method === 'notifications/resources/updated' && typeof params.uri === 'string')
        return { ...message, params: { ...params, uri: exposedUri(server.slug, params.uri) } };
      if (method !== 'notifications/cancelled') return message;
      const requestId = exposed.get(params.requestId as RpcId);
      return requestId === undefined ? null : { ...message, params: { ...params, requestId } };
    };

    /** The same object: as it was. Null: not for the client. */
    const forClient = (message: Json): Json | null => {
      if (typeof message.method === 'string') return 'id' in message ? question(message) : notification(message);
      return isObject(message.result) ? change(message) : message;
    };

    return (event: Uint8Array): Translated => {
      const data = dataOf(event);
      const plain = withoutOwnLines(event);
      if (data === null || data === '') return { bytes: plain, isAnswer: false };
      const message = parsed(data);
      if (!message) return { bytes: plain, isAnswer: false };
      const next = forClient(message);
      const isAnswer = typeof message.method !== 'string' && ('result' in message || 'error' in message);
      if (next === null) return { bytes: null, isAnswer };
      return { bytes: next === message ? plain : withData(plain ?? event, JSON.stringify(next)), isAnswer };
    };
  };

export type Translator = ReturnType<typeof createTranslator>;

function parsed(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** A client that saw where a stream stands would ask here for the rest, which the gateway gets by itself. */
function withoutOwnLines(event: Uint8Array): Uint8Array | null {
  const lines = Buffer.from(event.buffer, event.byteOffset, event.byteLength)
    .toString('utf8')
    .split(/\r\n|\r|\n/);
  if (!lines.some((line) => OWN_LINES.test(line))) return event;
  const kept = lines.filter((line) => line !== '' && !OWN_LINES.test(line));
  const says = kept.some((line) => !/^(?:event(?::.*)?|data:? ?)$/.test(line));
  return says ? Buffer.from(`${kept.join('\n')}\n\n`) : null;
}
