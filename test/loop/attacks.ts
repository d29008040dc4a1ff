import { bodiesIn } from '../fuzz.ts';
import type { Attack } from './drive.ts';
import { worstTexts, worstValues } from './worst.ts';

/** The largest body of most routes, and sizes at which the worst values just pass the limits on their shape. */
export const SIZES = [1_000_000, 300_000, 100_000, 50_000] as const;

type Family = readonly [name: string, make: (size: number) => string];
const families: readonly Family[] = Object.entries(worstValues);

interface Place {
  readonly method: string;
  readonly path: string;
  readonly field: string | null;
}

/** Every route that checks a JSON body, by its description, and every member of it: a new route is driven by itself. */
function placesIn(description: unknown): Place[] {
  return bodiesIn(description, () => 'x').flatMap(({ method, path, fields }) =>
    [null, ...fields].map((field) => ({ method, path, field })),
  );
}

/** All of them is thousands; `share` of them are other ones at each place. */
export function* ownRouteAttacks(description: unknown, { share }: { readonly share: number }): Generator<Attack> {
  let number = 0;
  for (const { method, path, field } of placesIn(description))
    for (const [family, make] of families)
      for (const size of SIZES) {
        // A prime, so that neighbours get different families and sizes.
        if ((number++ * 37) % Math.round(1 / share) !== 0) continue;
        yield {
          name: `${method} ${path} ${field ?? 'body'}: ${family}, ${size} bytes`,
          method,
          path,
          body: () => (field === null ? make(size) : `{${JSON.stringify(field)}:${make(size)}}`),
        };
      }
}

const conversation = (content: string, rest = '') =>
  `{"model":"m","messages":[{"role":"user","content":${content}}]${rest}}`;

/** Where a value may stand in a conversation. */
const conversations: Readonly<Record<string, (value: string) => string>> = {
  body: (value) => value,
  messages: (value) => `{"model":"m","messages":${value}}`,
  content: (value) => conversation(value),
  'an unknown member': (value) => conversation('"Hello"', `,"x":${value}`),
  'the schema of a tool': (value) =>
    conversation('"Hello"', `,"tools":[{"type":"function","function":{"name":"f","parameters":${value}}}]`),
  'arguments of a call': (value) =>
    `{"model":"m","messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":${JSON.stringify(value)}}}]},{"role":"tool","tool_call_id":"a","content":"b"}]}`,
};

/** By how much a place makes a value longer that is mostly quotes. */
const growth = (put: (value: string) => string): number => (put('""').includes('\\"\\"') ? 2 : 1);

/** Calls of models: bytes that pass as they are, and bytes that are translated. */
export function* modelCallAttacks({ share }: { readonly share: number }): Generator<Attack> {
  let number = 0;
  for (const provider of ['openai', 'anthropic', 'google'])
    for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/responses', '/v1/embeddings'])
      for (const [place, put] of Object.entries(conversations))
        for (const [family, make] of families)
          for (const size of SIZES) {
            if ((number++ * 37) % Math.round(1 / share) !== 0) continue;
            yield {
              name: `${path} on ${provider}, ${place}: ${family}, ${size} bytes`,
              path,
              headers: { 'x-gateway-virtual-key': provider },
              body: () => put(make(size / growth(put))),
            };
          }
  // A condition on what a call asks for makes the gateway read a body that it would only pass on.
  const config = JSON.stringify({
    strategy: { mode: 'conditional', conditions: [{ query: { 'params.model': 'm' }, then: 'one' }], default: 'one' },
    targets: [{ name: 'one', virtual_key: 'openai' }],
  });
  for (const [family, make] of families)
    yield {
      name: `a condition on params: ${family}, ${SIZES[0]} bytes`,
      path: '/v1/chat/completions',
      headers: { 'x-gateway-config': config },
      body: () => `{"model":"m","messages":[{"role":"user","content":"Hi"}],"more":${make(SIZES[0])}}`,
    };
}

const CHECKS: Readonly<Record<string, object>> = {
  contains: { operator: 'none', words: ['zzz', 'yyy'] },
  regexMatch: { rule: '(x+x+)+y', not: true },
  regexReplace: { rule: '[a-z]', redactText: 'b' },
  pii: {},
  secrets: {},
  language: { language: ['en'] },
  promptInjection: {},
  containsCode: { format: 'SQL' },
  wordCount: { minWords: 0, maxWords: 1e9 },
  sentenceCount: { minSentences: 0, maxSentences: 1e9 },
  characterCount: { minCharacters: 0, maxCharacters: 1e9 },
  jsonSchema: { schema: { type: 'object' } },
  jsonKeys: { keys: ['a'] },
  validUrls: { onlyDNS: true, timeout: 100 },
  alluppercase: {},
  startsWith: { prefix: 'x' },
};

/** Checks over texts, and the reading of bodies that they are found in. */
export function* guardrailAttacks({ share }: { readonly share: number }): Generator<Attack> {
  let number = 0;
  const isChosen = () => (number++ * 37) % Math.round(1 / share) === 0;
  const guarded = (checks: readonly object[]) => ({
    'x-gateway-config': JSON.stringify({ virtual_key: 'openai', input_guardrails: [{ checks }] }),
  });
  for (const [check, parameters] of Object.entries(CHECKS))
    for (const [family, make] of Object.entries(worstTexts))
      if (isChosen())
        yield {
          name: `check ${check}: ${family}`,
          path: '/v1/chat/completions',
          headers: guarded([{ id: `default.${check}`, parameters }]),
          body: () => conversation(`"${make(1_000_000)}"`),
        };
  for (const [place, put] of Object.entries(conversations))
    for (const [family, make] of families)
      for (const size of SIZES)
        if (isChosen())
          yield {
            name: `guarded call, ${place}: ${family}, ${size} bytes`,
            path: '/v1/chat/completions',
            headers: guarded([{ id: 'default.contains', parameters: CHECKS.contains! }]),
            body: () => put(make(size)),
          };
  for (const characters of [200, 5_000, 1_000_000])
    yield {
      name: `forty checks over ${characters} characters`,
      path: '/v1/chat/completions',
      headers: guarded(
        Array.from({ length: 40 }, (_, index) => ({
          id: 'default.regexMatch',
          parameters: { rule: `(x+x+)+y${index}`, not: true },
        })),
      ),
      body: () => conversation(`"${'x'.repeat(characters)}"`),
    };
}
