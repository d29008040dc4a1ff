import * as z from 'zod';
import { checkGrammar, eventsIn } from './grammar.ts';
import * as schemas from './schemas.ts';

const deleted = (object: string) =>
  z.strictObject({ id: z.string(), object: z.literal(object), deleted: z.literal(true) });

const file = z.strictObject({
  id: z.string().regex(/^file-[0-9A-Za-z]{24}$/),
  object: z.literal('file'),
  bytes: z.int().min(0),
  created_at: z.int(),
  filename: z.string(),
  purpose: z.string(),
  status: z.enum(['uploaded', 'processed', 'error']),
  expires_at: z.int().optional(),
});
const upload = z.strictObject({
  id: z.string().regex(/^upload_/),
  object: z.literal('upload'),
  bytes: z.int(),
  created_at: z.int(),
  filename: z.string(),
  purpose: z.string(),
  status: z.enum(['pending', 'completed', 'cancelled', 'expired']),
  expires_at: z.int(),
  file: file.nullable().optional(),
});

const counts = z.strictObject({
  in_progress: z.int(),
  completed: z.int(),
  failed: z.int(),
  cancelled: z.int(),
  total: z.int(),
});
const vectorStore = z.strictObject({
  id: z.string().regex(/^vs_/),
  object: z.literal('vector_store'),
  created_at: z.int(),
  name: z.string(),
  description: z.string().optional(),
  usage_bytes: z.int().min(0),
  file_counts: counts,
  status: z.enum(['expired', 'in_progress', 'completed']),
  expires_after: z.strictObject({ anchor: z.literal('last_active_at'), days: z.int() }).optional(),
  expires_at: z.int().nullable().optional(),
  last_active_at: z.int().nullable(),
  metadata: z.record(z.string(), z.string()),
});
const vectorStoreFile = z
  .strictObject({
    id: z.string().regex(/^file-[0-9A-Za-z]{24}$/),
    object: z.literal('vector_store.file'),
    usage_bytes: z.int().min(0),
    created_at: z.int(),
    vector_store_id: z.string().regex(/^vs_/),
    status: z.enum(['in_progress', 'completed', 'cancelled', 'failed']),
    last_error: z
      .strictObject({ code: z.enum(['server_error', 'unsupported_file', 'invalid_file']), message: z.string() })
      .nullable(),
    attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).nullable(),
    chunking_strategy: z.strictObject({
      type: z.literal('static'),
      static: z.strictObject({ max_chunk_size_tokens: z.int(), chunk_overlap_tokens: z.int() }),
    }),
  })
  .refine(({ status, last_error }) => (status === 'failed') === (last_error !== null), 'last_error iff failed');

const OBJECTS: Readonly<Record<string, z.ZodType>> = {
  assistant: schemas.assistant,
  thread: schemas.thread,
  'thread.message': schemas.message,
  'thread.run': schemas.run,
  'thread.run.step': schemas.step,
  vector_store: vectorStore,
  'vector_store.file': vectorStoreFile,
  file,
  upload,
  'upload.part': z.strictObject({
    id: z.string().regex(/^part_/),
    object: z.literal('upload.part'),
    created_at: z.int(),
    upload_id: z.string(),
  }),
  'assistant.deleted': deleted('assistant.deleted'),
  'thread.deleted': deleted('thread.deleted'),
  'thread.message.deleted': deleted('thread.message.deleted'),
};
const gone = deleted('file');

const error = z.strictObject({
  error: z.strictObject({
    message: z.string().min(1),
    type: z.string().min(1),
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
});

interface Answered {
  readonly object?: string;
  readonly data?: readonly unknown[];
  readonly deleted?: true;
}

/** A `fetch` that holds every answer, object and event against its schema, and remembers what it has seen. */
export function checkedFetch() {
  const checks: Promise<void>[] = [];
  const seen = new Set<string>();

  const check = async (url: string, response: Response) => {
    const type = response.headers.get('content-type') ?? '';
    if (!response.headers.get('x-request-id')) throw new Error(`${url} has no x-request-id`);
    if (type.startsWith('text/event-stream')) {
      const events = eventsIn(await response.text());
      for (const { event } of events) seen.add(event);
      const isSubmit = url.includes('/submit_tool_outputs');
      checkGrammar(events, isSubmit ? 'submit' : url.endsWith('/threads/runs') ? 'create-thread' : 'create');
    } else if (type.startsWith('application/json')) checkObject((await response.json()) as Answered, response.ok);
  };
  const checkObject = (value: Answered, isOk = true) => {
    if (!isOk) return void error.parse(value);
    const { object = '' } = value;
    seen.add(object);
    if (object === 'list') {
      schemas.list(z.unknown()).parse(value);
      for (const item of value.data!) checkObject(item as Answered);
    } else if (object === 'file' && value.deleted) gone.parse(value);
    else if (OBJECTS[object]) OBJECTS[object].parse(value);
    else throw new Error(`No schema for ${object || JSON.stringify(value).slice(0, 200)}`);
  };

  return {
    seen,
    // biome-ignore lint/suspicious/noExplicitAny: each major of the client has a type of its own for it
    fetch: async (url: any, init?: any): Promise<any> => {
      const response = await fetch(url, init);
      // The client asks such an address to find out what it runs on.
      if (!String(url).startsWith('data:')) checks.push(check(String(url), response.clone() as Response));
      return response;
    },
    /** How many answers there were; throws what is wrong with the first that does not fit. */
    async checked(): Promise<number> {
      const all = checks.splice(0);
      await Promise.all(all);
      return all.length;
    },
  };
}
