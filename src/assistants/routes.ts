import * as z from 'zod';
import { listOf } from '../core/list.ts';
import { type Call, type CallAt, del, get, post, type Route } from '../http/route.ts';
import { assistantObject, createAssistant, updateAssistant } from './assistants.ts';
import { bringsFiles, provenByGiver } from './file-proofs.ts';
import { createMessage, messageObject, updateMessage } from './messages.ts';
import { type NativeDeps, orNative } from './native.ts';
import { runRoutes } from './run-routes.ts';
import {
  type AssistantParts,
  deleted,
  onThread as onThreadOf,
  page,
  reads,
  workspaceOf,
  writes,
} from './shared-route.ts';
import { threadObject } from './thread.ts';
import { createThread, updateThread } from './threads.ts';
import { vectorStoreRoutes } from './vector-stores/routes.ts';

const messagePage = () =>
  page().extend({ run_id: z.string().optional().describe('Only messages that this run made.') });

/** The vendor's Assistants API, alive: assistants, threads, messages, runs and vector stores. */
export const assistantRoutes = (parts: AssistantParts & NativeDeps): Route[] => orNative(managedRoutes(parts), parts);

function managedRoutes(parts: AssistantParts): Route[] {
  const { assistants, threads, messages, virtualKeys, proofs, vectorStores } = parts;
  const onThread = (call: Call) => onThreadOf(call, virtualKeys);
  const thread = (call: CallAt<'thread_id'>) => call.params.thread_id;
  const message = (call: CallAt<'message_id'>) => call.params.message_id;
  const proven = (call: Call, given: Parameters<typeof bringsFiles>[0]) =>
    provenByGiver(call, bringsFiles(given), { proofs, embeds: vectorStores.embeds });
  return [
    // Before the routes of one thread: `runs` is no thread's id.
    ...runRoutes(parts),
    ...vectorStoreRoutes(parts),
    post(
      '/v1/assistants',
      { ...writes, summary: 'Create an assistant', body: createAssistant, response: assistantObject },
      async (call) => assistants.create(workspaceOf(call), call.body, await proven(call, call.body)),
    ),
    get(
      '/v1/assistants',
      { ...reads, summary: 'Assistants of the workspace', query: page, response: () => listOf(assistantObject) },
      (call) => assistants.list(workspaceOf(call), call.query),
    ),
    get('/v1/assistants/:assistant_id', { ...reads, summary: 'One assistant', response: assistantObject }, (call) =>
      assistants.read(workspaceOf(call), call.params.assistant_id),
    ),
    post(
      '/v1/assistants/:assistant_id',
      { ...writes, summary: 'Change an assistant', body: updateAssistant, response: assistantObject },
      (call) => assistants.update(workspaceOf(call), call.params.assistant_id, call.body),
    ),
    del(
      '/v1/assistants/:assistant_id',
      { ...writes, summary: 'Delete an assistant', response: deleted('assistant.deleted') },
      (call) => assistants.delete(workspaceOf(call), call.params.assistant_id),
    ),

    post(
      '/v1/threads',
      { ...writes, summary: 'Begin a thread', body: createThread, response: threadObject },
      async (call) => {
        const maker = { workspaceId: await onThread(call), userId: call.principal.userId };
        return threads.create({ ...maker, proofs: await proven(call, call.body) }, call.body);
      },
    ),
    get(
      '/v1/threads',
      { ...reads, summary: 'Threads of the workspace', query: page, response: () => listOf(threadObject) },
      async (call) => threads.list(await onThread(call), call.query),
    ),
    get('/v1/threads/:thread_id', { ...reads, summary: 'One thread', response: threadObject }, async (call) =>
      threads.read(await onThread(call), thread(call)),
    ),
    post(
      '/v1/threads/:thread_id',
      { ...writes, summary: 'Change a thread', body: updateThread, response: threadObject },
      async (call) => threads.update(await onThread(call), thread(call), call.body),
    ),
    del(
      '/v1/threads/:thread_id',
      { ...writes, summary: 'Delete a thread with its messages', response: deleted('thread.deleted') },
      async (call) => threads.delete(await onThread(call), thread(call)),
    ),

    post(
      '/v1/threads/:thread_id/messages',
      { ...writes, summary: 'Add a message to a thread', body: createMessage, response: messageObject },
      async (call) => {
        const workspaceId = await onThread(call);
        const place = { workspaceId, threadId: thread(call), userId: call.principal.userId };
        return messages.create({ ...place, proofs: await proven(call, { messages: [call.body] }) }, call.body);
      },
    ),
    get(
      '/v1/threads/:thread_id/messages',
      { ...reads, summary: 'Messages of a thread', query: messagePage, response: () => listOf(messageObject) },
      async (call) => messages.list(await onThread(call), thread(call), call.query),
    ),
    get(
      '/v1/threads/:thread_id/messages/:message_id',
      { ...reads, summary: 'One message', response: messageObject },
      async (call) => messages.read(await onThread(call), thread(call), message(call)),
    ),
    post(
      '/v1/threads/:thread_id/messages/:message_id',
      { ...writes, summary: "Change a message's metadata", body: updateMessage, response: messageObject },
      async (call) => messages.update(await onThread(call), thread(call), message(call), call.body),
    ),
    del(
      '/v1/threads/:thread_id/messages/:message_id',
      { ...writes, summary: 'Delete a message', response: deleted('thread.message.deleted') },
      async (call) => messages.delete(await onThread(call), thread(call), message(call)),
    ),
  ];
}
