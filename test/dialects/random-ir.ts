import type {
  CacheMark,
  Choice,
  DialectName,
  Ext,
  FinishReason,
  MediaPart,
  ModelReply,
  ModelRequest,
  Part,
  ReasoningPart,
  Settings,
  TextPart,
  TokenUsage,
  Tool,
  ToolResultPart,
  Turn,
} from '../../src/dialects/ir.ts';
import { present } from '../../src/dialects/json.ts';
import type { Random } from './random.ts';

/** Random requests and replies in canonical form, for the laws. Any dialect may be the one that made them. */

const WORDS = ['yes', 'no', 'über', '言葉', '🌊', '"quoted"', 'a\nb', '{}', '\\', '[DONE]', 'data: x'];
const words = (random: Random) => random.many(4, () => random.one(WORDS)).join(' ');
const cache = (random: Random): CacheMark => present({ ttl: random.maybe(() => random.one(['5m', '1h']), 0.5) });
const DIALECTS: readonly DialectName[] = ['openai-chat', 'anthropic', 'responses', 'gemini'];

const ext = (random: Random): Ext => ({ [random.one(DIALECTS)]: { [`x_${random.below(3)}`]: random.below(9) } });
const maybeExt = (random: Random) => random.maybe(() => ext(random), 0.08);

const text = (random: Random): TextPart =>
  present({ type: 'text', text: words(random), cache: random.maybe(() => cache(random), 0.15), ext: maybeExt(random) });

function media(random: Random): MediaPart {
  const kind = random.one(['image', 'image', 'document', 'audio', 'video'] as const);
  const mimes = { image: 'image/png', document: 'application/pdf', audio: 'audio/wav', video: 'video/mp4' };
  const source = random.one([
    { type: 'data', data: 'AAECAw==' },
    { type: 'url', url: 'https://example.com/file' },
    { type: 'id', id: 'file-1' },
  ] as const);
  return present<MediaPart>({
    type: 'media',
    kind,
    source,
    mime: source.type === 'data' ? mimes[kind] : random.maybe(() => mimes[kind], 0.1),
    detail: kind === 'image' ? random.maybe(() => 'high', 0.3) : undefined,
    title: kind === 'document' ? random.maybe(() => 'report.pdf') : undefined,
    cache: random.maybe(() => cache(random), 0.1),
    ext: maybeExt(random),
  });
}

const argsText = (random: Random) => JSON.stringify({ city: words(random), count: random.below(9) });

const call = (random: Random): Part => ({
  type: 'tool-call',
  id: `call_${random.below(1e6)}`,
  name: random.one(['get_weather', 'now']),
  argsText: random.chance(0.2) ? '{}' : argsText(random),
});

function reasoning(random: Random): ReasoningPart {
  const signedBy = random.one(DIALECTS);
  if (random.chance(0.3)) return { type: 'reasoning', redacted: `r${random.below(99)}`, signedBy };
  if (random.chance(0.3)) return { type: 'reasoning', text: words(random) };
  return { type: 'reasoning', text: words(random), signature: `s${random.below(99)}`, signedBy };
}

const result = (random: Random): ToolResultPart =>
  present<ToolResultPart>({
    type: 'tool-result',
    id: `call_${random.below(1e6)}`,
    parts: random.many(2, () => (random.chance(0.85) ? text(random) : media(random)), 0),
    isError: random.maybe(() => true as const, 0.2),
    cache: random.maybe(() => cache(random), 0.1),
  });

const opaque = (random: Random): Part => ({
  type: 'opaque',
  dialect: random.one(DIALECTS),
  raw: { type: 'odd', x: 1 },
});

function exchange(random: Random): Turn[] {
  const said = random.many(3, () =>
    random.chance(0.6) ? text(random) : random.chance(0.9) ? media(random) : opaque(random),
  );
  const user = present<Turn>({
    role: 'user',
    parts: said,
    name: random.maybe(() => 'ada', 0.1),
    ext: maybeExt(random),
  });
  const system = random.maybe<Turn>(() => ({ role: 'system', parts: [text(random)] }), 0.15);
  const calls = random.chance(0.4) ? random.many(2, () => call(random)) : [];
  const assistant: Turn = {
    role: 'assistant',
    parts: [
      ...(random.chance(0.3) ? random.many(2, () => reasoning(random)) : []),
      ...random.many(2, () => text(random)),
      ...(random.chance(0.1) ? [{ type: 'refusal', text: words(random) } as const] : []),
      ...calls,
    ],
  };
  const results: Turn[] = calls.length > 0 ? [{ role: 'tool', parts: random.many(2, () => result(random)) }] : [];
  return [user, ...(system ? [system] : []), assistant, ...results];
}

function tool(random: Random): Tool {
  const name = random.one(['get_weather', 'now']);
  if (random.chance(0.1)) return { type: 'custom', name: 'sql', description: 'Runs SQL.' };
  if (random.chance(0.1))
    return { type: 'opaque', dialect: random.one(DIALECTS), raw: { type: 'search_1', name: 's' } };
  return present<Tool>({
    type: 'function',
    name,
    description: random.maybe(() => words(random)),
    parameters: { type: 'object', properties: { city: { $ref: '#/$defs/c' } }, $defs: { c: { type: 'string' } } },
    strict: random.maybe(() => random.chance(0.5)),
    cache: random.maybe(() => cache(random), 0.1),
    ext: maybeExt(random),
  });
}

function settings(random: Random): Settings {
  const maybe = random.maybe.bind(random);
  const toolChoice = maybe(() => {
    const type = random.one(['auto', 'none', 'required', 'tool', 'allowed'] as const);
    if (type === 'tool') return { type, name: 'now' };
    return type === 'allowed' ? { type, mode: 'auto' as const, names: ['now'] } : { type };
  });
  const isStream = maybe(() => random.chance(0.5));
  return {
    tools: maybe(() => random.many(3, () => tool(random))),
    toolChoice,
    parallelToolCalls: toolChoice && maybe(() => random.chance(0.5)),
    maxOutputTokens: 1 + random.below(9_999),
    temperature: maybe(() => random.below(20) / 10),
    topP: maybe(() => random.below(10) / 10),
    topK: maybe(() => random.below(50), 0.1),
    stop: maybe(() => random.many(2, () => random.one(WORDS))),
    n: maybe(() => 2 + random.below(3), 0.1),
    seed: maybe(() => random.below(99)),
    logprobs: maybe(() => present({ top: maybe(() => 3) }), 0.1),
    frequencyPenalty: maybe(() => 0.5, 0.1),
    presencePenalty: maybe(() => -0.5, 0.1),
    logitBias: maybe(() => ({ '12': -100 }), 0.1),
    responseFormat: maybe(() =>
      random.chance(0.2)
        ? { type: 'json' as const }
        : { type: 'schema' as const, schema: { type: 'object' }, name: 'person', strict: true },
    ),
    reasoning: maybe(() => {
      const mode = random.one(['off', 'adaptive', 'budget'] as const);
      const budgetTokens = mode === 'budget' ? 2_048 : undefined;
      return present({ mode, budgetTokens, effort: random.one(['low', 'medium', 'high', 'max'] as const) });
    }),
    serviceTier: maybe(() => random.one(['auto', 'standard', 'priority'])),
    user: maybe(() => 'user-1'),
    metadata: maybe(() => ({ team: 'red' }), 0.1),
    stream: isStream,
    includeUsage: isStream ? true : undefined,
  };
}

export const randomRequest = (random: Random): ModelRequest =>
  present<ModelRequest>({
    model: random.one(['claude-opus-5', 'gpt-5']),
    turns: [
      ...(random.chance(0.4) ? [{ role: 'system' as const, parts: random.many(2, () => text(random)) }] : []),
      ...random.many(2, () => exchange(random)).flat(),
      { role: 'user', parts: [text(random)] },
    ],
    ...present(settings(random)),
    ext: maybeExt(random),
  });

function usage(random: Random): TokenUsage {
  const read = random.maybe(() => random.below(100));
  const written = random.maybe(() => random.below(100));
  const isSplit = written !== undefined && random.chance(0.5);
  return present<TokenUsage>({
    inputTokens: random.below(100) + (read ?? 0) + (written ?? 0),
    outputTokens: random.below(100),
    cachedInputTokens: read,
    cacheWriteTokens: written,
    cacheWrite5mTokens: isSplit ? written : undefined,
    cacheWrite1hTokens: isSplit ? 0 : undefined,
    reasoningTokens: random.maybe(() => random.below(9)),
    audioInputTokens: random.maybe(() => random.below(9), 0.1),
  });
}

const REASONS: readonly FinishReason[] = [
  'stop',
  'stop-sequence',
  'length',
  'context-overflow',
  'content-filter',
  'refusal',
  'pause',
];

function choice(random: Random): Choice {
  const isCalling = random.chance(0.4);
  const isRefusing = random.chance(0.1);
  const logprobs = random.maybe(() => [{ token: 'yes', logprob: -0.5, bytes: null, top_logprobs: [] }], 0.1);
  const parts: Part[] = [
    ...(random.chance(0.4) ? random.many(2, () => reasoning(random)) : []),
    ...(random.chance(0.8) ? [present<Part>({ type: 'text', text: words(random), logprobs })] : []),
    ...(random.chance(0.1) ? [{ type: 'text', text: words(random) } as const] : []),
    ...(isRefusing ? [{ type: 'refusal', text: words(random) } as const] : []),
    ...(random.chance(0.05) ? [opaque(random)] : []),
    ...(isCalling ? random.many(3, () => call(random)) : []),
  ];
  const reason = isCalling ? 'tool-calls' : isRefusing ? 'refusal' : random.one(REASONS);
  const stopSequence = reason === 'stop-sequence' ? 'END' : undefined;
  return { parts, finish: present({ reason, stopSequence }) };
}

export const randomReply = (random: Random): ModelReply =>
  present<ModelReply>({
    id: `reply-${random.below(1e6)}`,
    model: 'model-1',
    createdAt: random.maybe(() => 1_760_000_000 + random.below(99)),
    choices: random.chance(0.1) ? [choice(random), choice(random)] : [choice(random)],
    usage: random.maybe(() => usage(random), 0.8),
    serviceTier: random.maybe(() => random.one(['standard', 'priority'])),
    ext: maybeExt(random),
  });
