import { exceptionFor } from './exceptions.ts';
import { judge } from './judge.ts';
import type { Major, VendorType } from './openai-types.ts';
import { type VendorSchemas, vendorSchemas } from './schemas.ts';
import { orderFaults } from './stream-order.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into as they came
type Loose = any;

/** By `object`, what the vendor calls an answer. */
const BY_OBJECT: Readonly<Record<string, VendorType>> = {
  response: 'Response',
  'response.compaction': 'CompactedResponse',
  conversation: 'Conversation',
  'conversation.deleted': 'ConversationDeleted',
  container: 'Container',
  'container.file': 'ContainerFile',
  file: 'File',
  assistant: 'Assistant',
  thread: 'Thread',
  'thread.message': 'Message',
  'thread.run': 'Run',
  'thread.run.step': 'RunStep',
  vector_store: 'VectorStore',
  'vector_store.deleted': 'VectorStoreDeleted',
  'vector_store.file': 'VectorStoreFile',
  'vector_store.files_batch': 'VectorStoreFileBatch',
  'vector_store.file.deleted': 'VectorStoreFileDeleted',
  'assistant.deleted': 'AssistantDeleted',
  'thread.deleted': 'ThreadDeleted',
  'thread.message.deleted': 'MessageDeleted',
  'chat.completion': 'ChatCompletion',
};
/** Lists whose items do not say what they are, by path. */
const LISTS: readonly (readonly [RegExp, VendorType])[] = [
  [/^\/v1\/responses\/[^/]+\/input_items$/, 'ResponseItemList'],
  [/^\/v1\/conversations\/[^/]+\/items$/, 'ConversationItemList'],
];
/** Of these the vendor has no type: responses, containers and their files that were deleted. */
const isUntyped = ({ object, deleted }: Loose): boolean =>
  deleted === true && ['response', 'container.deleted', 'container.file.deleted'].includes(object);

/** A `fetch` for the vendor's client that holds every answer and every event against what the vendor publishes. */
export async function judgedFetch() {
  const schemas = await vendorSchemas();
  const waiting: Promise<void>[] = [];
  const faults: string[] = [];
  const seen = new Map<string, number>();
  const note = (type: string, found: readonly string[]) => {
    seen.set(type, (seen.get(type) ?? 0) + 1);
    faults.push(...found);
  };

  const check = async (method: string, url: URL, response: Response) => {
    const format = response.headers.get('content-type') ?? '';
    const { pathname: path } = url;
    const at = `${method} ${path}`;
    if (format.startsWith('text/event-stream')) {
      const events = eventsIn(await response.text());
      for (const [index, told] of events.entries())
        note(
          told.event ?? told.data.object ?? 'error',
          judgeEvent(schemas, told, path.startsWith('/v1/threads')).map((found) => `${at}: events[${index}] ${found}`),
        );
      const after = url.searchParams.get('starting_after');
      if (events[0]?.data.sequence_number !== undefined)
        for (const found of orderFaults(
          events.map(({ data }) => data),
          after === null ? {} : { after: Number(after) },
        ))
          faults.push(`${at}: ${found}`);
      return;
    }
    if (!format.startsWith('application/json')) return;
    const body = (await response.json()) as Loose;
    const typed = parts(path, body, response.ok);
    if (!typed) faults.push(`${at}: no type of the vendor for ${JSON.stringify(body).slice(0, 200)}`);
    for (const [type, value] of typed ?? [])
      note(
        type,
        fits(schemas, type, value).map((found) => `${at}: ${found}`),
      );
  };

  return {
    /** How many of each type of the vendor were judged. */
    seen: seen as ReadonlyMap<string, number>,
    // biome-ignore lint/suspicious/noExplicitAny: each major of the client has a type of its own for it
    fetch: async (given: any, init?: any): Promise<any> => {
      const response = await fetch(given, init);
      const url = new URL(String(given));
      if (url.protocol !== 'data:')
        waiting.push(
          check(init?.method ?? 'GET', url, response.clone() as Response).catch((error) => {
            // A client that left has no body to be judged.
            if (error?.name !== 'AbortError') faults.push(`${url.pathname}: ${error}`);
          }),
        );
      return response;
    },
    /** Everything that does not fit since the last time. */
    async faults(): Promise<string[]> {
      await Promise.all(waiting.splice(0));
      return [...new Set(faults.splice(0))];
    },
  };
}

/** Values in an answer and the types that they should have. Null: there is none for it. */
function parts(path: string, body: Loose, isOk: boolean): (readonly [VendorType, unknown])[] | null {
  if (!isOk) return [['ErrorObject', body.error]];
  const list = LISTS.find(([pattern]) => pattern.test(path));
  if (list && body.object === 'list') return [[list[1], body]];
  if (/^\/v1\/conversations\/[^/]+\/items\/[^/]+$/.test(path) && body.object !== 'conversation')
    return [['ConversationItem', body]];
  if (body.object === 'vector_store.search_results.page')
    return body.data.map((each: unknown) => ['VectorStoreSearchResult', each] as const);
  if (body.object === 'vector_store.file_content.page')
    return body.data.map((each: unknown) => ['VectorStoreFileContent', each] as const);
  if (body.object === 'list') {
    const items = body.data.map((each: unknown) => parts(path, each, true));
    return items.includes(null) ? null : items.flat();
  }
  if (body.object === 'file' && 'deleted' in body) return [['FileDeleted', body]];
  if (isUntyped(body)) return [];
  const type = BY_OBJECT[body.object];
  return type ? [[type, body]] : null;
}

/** What does not fit a type of the vendor, in any of its majors, but for what is excepted with its reason. */
export function fits(schemas: VendorSchemas, type: VendorType, value: unknown, name: string = type): string[] {
  return (Object.keys(schemas.roots) as Major[]).flatMap((major) => {
    const { faults, extras } = judge(schemas.roots[major][type], value, name, schemas.defs);
    const strange = extras.map((place) => `${place}: unknown to the vendor`);
    return [...faults, ...strange].map((found) => `openai ${major}: ${found}`).filter((found) => !exceptionFor(found));
  });
}

interface Told {
  readonly event: string | null;
  readonly data: Loose;
}

export function eventsIn(text: string): Told[] {
  return text.split('\n\n').flatMap((block) => {
    const lines = block.split('\n');
    const data = lines.flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trim()] : [])).join('\n');
    if (data === '' || data === '[DONE]') return [];
    const event =
      lines
        .find((line) => line.startsWith('event:'))
        ?.slice(6)
        .trim() ?? null;
    return [{ event, data: JSON.parse(data) }];
  });
}

/** What an event is at the vendor's: of a run, a piece of a chat completion or its failure, or of a response. */
export function judgeEvent(schemas: VendorSchemas, { event, data }: Told, isOfThread = false): string[] {
  if (isOfThread) return fits(schemas, 'AssistantStreamEvent', { event, data }, String(event));
  if (data.object === 'chat.completion.chunk') return fits(schemas, 'ChatCompletionChunk', data);
  if (data.type === undefined && data.error) return fits(schemas, 'ErrorObject', data.error);
  return [
    ...(event === data.type ? [] : [`the name of the event is ${event}, its type ${data.type}`]),
    ...fits(schemas, 'ResponseStreamEvent', data, data.type),
  ];
}
