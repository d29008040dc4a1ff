/** One way to call each kind of endpoint, and what a provider says to it. `text` is what is judged. */
export interface Family {
  readonly name: string;
  readonly path: string;
  readonly provider: string;
  /** What is sent; null where nothing that is sent is text. */
  readonly request: (text: string, stream: boolean) => { body: unknown; headers?: Record<string, string> };
  /** What the provider answers; null where nothing that is answered is text. */
  readonly answer: ((text: string, stream: boolean) => Response) | null;
  readonly streams?: boolean;
  /** Without a text in the request: a picture alone. */
  readonly isMute?: boolean;
}

const json = (value: unknown) => Response.json(value);
const events = (list: readonly (readonly [string | null, unknown])[]) =>
  new Response(
    list
      .map(
        ([event, data]) =>
          `${event ? `event: ${event}\n` : ''}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`,
      )
      .join(''),
    { headers: { 'content-type': 'text/event-stream' } },
  );

/** Pieces that cut every word in two. */
export const cut = (text: string): string[] => text.match(/.{1,3}/gs) ?? [];

const form = (fields: Record<string, string>) => {
  const made = new FormData();
  for (const [name, value] of Object.entries(fields)) made.set(name, value);
  made.set('file', new Blob([new Uint8Array([1, 2, 3, 255])], { type: 'audio/mpeg' }), 'sound.mp3');
  return made;
};

const usage = { prompt_tokens: 7, completion_tokens: 9, total_tokens: 16 };
const user = (content: string) => [{ role: 'user', content }];

const chatAnswer = (text: string, stream: boolean) =>
  stream
    ? events([
        ...cut(text).map((content) => [null, chunk({ delta: { content }, finish_reason: null })] as const),
        [null, chunk({ delta: {}, finish_reason: 'stop' })],
        [null, { ...chunk({}), choices: [], usage }],
        [null, '[DONE]'],
      ])
    : json({
        id: 'c',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
        usage,
      });
const chunk = (choice: object) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, ...choice }],
});

const messageAnswer = (text: string, stream: boolean) => {
  const message = { id: 'msg', type: 'message', role: 'assistant', model: 'm', stop_sequence: null };
  if (!stream)
    return json({
      ...message,
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 3, output_tokens: 4 },
    });
  return events([
    [
      'message_start',
      {
        type: 'message_start',
        message: { ...message, content: [], stop_reason: null, usage: { input_tokens: 3, output_tokens: 1 } },
      },
    ],
    ['content_block_start', { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }],
    ...cut(text).map(
      (piece) =>
        [
          'content_block_delta',
          { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: piece } },
        ] as const,
    ),
    ['content_block_stop', { type: 'content_block_stop', index: 0 }],
    ['message_delta', { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } }],
    ['message_stop', { type: 'message_stop' }],
  ]);
};

const responseAnswer = (text: string, stream: boolean) => {
  const content = [{ type: 'output_text', text, annotations: [] }];
  const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content };
  const whole = {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'm',
    status: 'completed',
    output: [item],
    usage: {},
  };
  if (!stream) return json(whole);
  const at = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  const named = (type: string, rest: object) => [type, { type, ...rest }] as const;
  return events([
    named('response.created', { response: { ...whole, status: 'in_progress', output: [] } }),
    named('response.output_item.added', { output_index: 0, item: { ...item, content: [] } }),
    ...cut(text).map((delta) => named('response.output_text.delta', { ...at, delta })),
    named('response.output_text.done', { ...at, text }),
    named('response.content_part.done', { ...at, part: content[0] }),
    named('response.output_item.done', { output_index: 0, item }),
    named('response.completed', { response: whole }),
  ]);
};

const gemini = (text: string) => ({ candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0 }] });

export const families: readonly Family[] = [
  {
    name: 'chat',
    path: '/v1/chat/completions',
    provider: 'openai',
    request: (text, stream) => ({ body: { model: 'm', messages: user(text), stream } }),
    answer: chatAnswer,
    streams: true,
  },
  {
    name: 'chat, translated',
    path: '/v1/chat/completions',
    provider: 'anthropic',
    request: (text, stream) => ({ body: { model: 'm', max_tokens: 10, messages: user(text), stream } }),
    answer: messageAnswer,
    streams: true,
  },
  {
    name: 'completions',
    path: '/v1/completions',
    provider: 'openai',
    request: (prompt, stream) => ({ body: { model: 'm', prompt, stream } }),
    answer: (text, stream) =>
      stream
        ? events([
            ...cut(text).map(
              (piece) => [null, { object: 'text_completion', choices: [{ index: 0, text: piece }] }] as const,
            ),
            [null, '[DONE]'],
          ])
        : json({ object: 'text_completion', choices: [{ index: 0, text, finish_reason: 'stop' }], usage }),
    streams: true,
  },
  {
    name: 'messages',
    path: '/v1/messages',
    provider: 'anthropic',
    request: (text, stream) => ({ body: { model: 'm', max_tokens: 10, messages: user(text), stream } }),
    answer: messageAnswer,
    streams: true,
  },
  {
    name: 'messages, translated',
    path: '/v1/messages',
    provider: 'openai',
    request: (text, stream) => ({ body: { model: 'm', max_tokens: 10, messages: user(text), stream } }),
    answer: chatAnswer,
    streams: true,
  },
  {
    name: 'token counting',
    path: '/v1/messages/count_tokens',
    provider: 'anthropic',
    request: (text) => ({ body: { model: 'm', messages: user(text) } }),
    answer: null,
  },
  {
    name: 'responses',
    path: '/v1/responses',
    provider: 'openai',
    request: (input, stream) => ({ body: { model: 'm', input, stream } }),
    answer: responseAnswer,
    streams: true,
  },
  {
    name: 'responses, translated',
    path: '/v1/responses',
    provider: 'anthropic',
    request: (input, stream) => ({ body: { model: 'm', max_output_tokens: 10, input, stream } }),
    answer: messageAnswer,
    streams: true,
  },
  {
    name: 'embeddings',
    path: '/v1/embeddings',
    provider: 'openai',
    request: (text) => ({ body: { model: 'm', input: ['fine', text] } }),
    answer: null,
  },
  {
    name: 'rerank',
    path: '/v1/rerank',
    provider: 'modal',
    request: (text) => ({ body: { model: 'm', query: 'q', documents: ['fine', { text }], return_documents: true } }),
    answer: (text) => json({ results: [{ index: 0, relevance_score: 1, document: { text } }] }),
  },
  {
    name: 'moderation',
    path: '/v1/moderations',
    provider: 'openai',
    request: (text) => ({ body: { model: 'm', input: [{ type: 'text', text }] } }),
    answer: null,
  },
  {
    name: 'image generation',
    path: '/v1/images/generations',
    provider: 'openai',
    request: (prompt) => ({ body: { model: 'm', prompt } }),
    answer: (revised_prompt) => json({ created: 1, data: [{ b64_json: 'AAAA', revised_prompt }] }),
  },
  {
    name: 'image edits',
    path: '/v1/images/edits',
    provider: 'openai',
    request: (prompt) => ({ body: form({ model: 'm', prompt }) }),
    answer: (revised_prompt) => json({ created: 1, data: [{ url: 'https://example.com/x.png', revised_prompt }] }),
  },
  {
    name: 'image variations',
    path: '/v1/images/variations',
    provider: 'openai',
    request: () => ({ body: form({ model: 'm' }) }),
    answer: (revised_prompt) => json({ created: 1, data: [{ revised_prompt }] }),
    isMute: true,
  },
  {
    name: 'speech',
    path: '/v1/audio/speech',
    provider: 'openai',
    request: (input) => ({ body: { model: 'm', voice: 'alloy', input } }),
    // The gateway cannot know what is spoken there, so it does not pass.
    answer: (text) => new Response(text, { headers: { 'content-type': 'audio/mpeg' } }),
  },
  {
    name: 'transcription',
    path: '/v1/audio/transcriptions',
    provider: 'openai',
    request: (prompt, stream) => ({ body: form({ model: 'm', prompt, ...(stream && { stream: 'true' }) }) }),
    answer: (text, stream) =>
      stream
        ? events([
            ...cut(text).map((delta) => [null, { type: 'transcript.text.delta', delta }] as const),
            [null, { type: 'transcript.text.done', text }],
          ])
        : json({ text }),
    streams: true,
  },
  {
    name: 'transcription as plain text',
    path: '/v1/audio/transcriptions',
    provider: 'openai',
    request: (prompt) => ({ body: form({ model: 'm', prompt, response_format: 'text' }) }),
    answer: (text) => new Response(text, { headers: { 'content-type': 'text/plain; charset=utf-8' } }),
  },
  {
    name: 'translation of speech',
    path: '/v1/audio/translations',
    provider: 'openai',
    request: (prompt) => ({ body: form({ model: 'm', prompt }) }),
    answer: (text) => json({ text }),
  },
  {
    name: 'pass-through, Gemini',
    path: '/v1/proxy/models/g:generateContent',
    provider: 'openai',
    request: (text) => ({ body: { contents: [{ role: 'user', parts: [{ text }] }] } }),
    answer: (text) => json(gemini(text)),
  },
  {
    name: 'pass-through, Gemini streamed as one list',
    path: '/v1/proxy/models/g:streamGenerateContent',
    provider: 'openai',
    request: (text) => ({ body: { contents: [{ role: 'user', parts: [{ text }] }] } }),
    answer: (text) => json(cut(text).map(gemini)),
  },
  {
    name: 'pass-through, Gemini streamed as events',
    path: '/v1/proxy/models/g:streamGenerateContent?alt=sse',
    provider: 'openai',
    request: (text) => ({ body: { contents: [{ role: 'user', parts: [{ text }] }] } }),
    answer: (text) => events(cut(text).map((piece) => [null, gemini(piece)] as const)),
  },
  {
    name: "Google's client, translated",
    path: '/v1beta/models/m:generateContent',
    provider: 'anthropic',
    request: (text) => ({ body: { contents: [{ role: 'user', parts: [{ text }] }] } }),
    answer: (text) => messageAnswer(text, false),
  },
  {
    name: "Google's client, translated, streamed as events",
    path: '/v1beta/models/m:streamGenerateContent?alt=sse',
    provider: 'anthropic',
    request: (text) => ({ body: { contents: [{ role: 'user', parts: [{ text }] }] } }),
    answer: (text) => messageAnswer(text, true),
  },
  {
    name: "Google's client, translated, streamed as events and given as one list",
    path: '/v1beta/models/m:streamGenerateContent',
    provider: 'openai',
    request: (text) => ({ body: { contents: [{ parts: { text } }] } }),
    answer: (text) => chatAnswer(text, true),
  },
  {
    name: "Google's client, embeddings",
    path: '/v1beta/models/m:batchEmbedContents',
    provider: 'openai',
    request: (text) => ({ body: { requests: [{ content: { parts: [{ text }] } }] } }),
    answer: null,
  },
  {
    name: 'pass-through, JSON lines',
    path: '/v1/proxy/api/generate',
    provider: 'openai',
    request: (prompt) => ({ body: { model: 'm', prompt } }),
    answer: (text) =>
      new Response(
        cut(text)
          .map((response) => `${JSON.stringify({ response })}\n`)
          .join(''),
        { headers: { 'content-type': 'application/x-ndjson' } },
      ),
  },
  {
    name: 'pass-through, plain text',
    path: '/v1/some/thing',
    provider: 'openai',
    request: (text) => ({ body: text, headers: { 'content-type': 'text/plain' } }),
    answer: (text) => new Response(text, { headers: { 'content-type': 'text/plain' } }),
  },
  {
    name: 'pass-through, JSON that says it is something else',
    path: '/v1/some/thing',
    provider: 'openai',
    request: (text) => ({
      body: JSON.stringify({ messages: user(text) }).replace('forb', '\\u0066orb'),
      headers: { 'content-type': 'application/octet-stream' },
    }),
    answer: (text) =>
      new Response(JSON.stringify({ text }), { headers: { 'content-type': 'application/octet-stream' } }),
  },
];
