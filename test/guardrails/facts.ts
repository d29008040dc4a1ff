import { schemaOf } from '../../src/core/schema.ts';
import type { Check, CheckResult, Facts, Hook, Ports, TextPart } from '../../src/guardrails/check.ts';

/** For tests of checks: facts and ports in which everything is harmless unless said otherwise. */
type PartInput = string | (Partial<TextPart> & { readonly text: string });

export const partsOf = (inputs: readonly PartInput[]): TextPart[] =>
  inputs.map((input, index) => ({
    role: 'user',
    kind: 'text' as const,
    turn: index,
    where: `messages[${index}].content`,
    ...(typeof input === 'string' ? { text: input } : input),
  }));

export function factsOf(
  said: PartInput | readonly PartInput[] = [],
  { on = 'input', json = null, ...rest }: Partial<Facts> & { on?: Hook } = {},
): Facts {
  const texts = partsOf([said].flat());
  return {
    on,
    texts,
    json,
    request: on === 'input' ? { texts, json } : { texts: [], json: null },
    status: on === 'input' ? null : 200,
    model: 'gpt-4o',
    endpointType: 'chatComplete',
    metadata: {},
    headers: {},
    isStream: false,
    provider: 'openai',
    ...rest,
  };
}

const unasked = (what: string) => () => Promise.reject(new Error(`the test did not expect ${what}`));

export const portsOf = (ports: Partial<Ports> = {}): Ports => ({
  fetch: unasked('a request'),
  resolves: unasked('a look-up'),
  now: Date.now,
  verifyJwt: unasked('a token'),
  recheckJwt: unasked('a token'),
  ...ports,
});

/** Runs a check as a guardrail does: its parameters first go through its schema. */
export const judge = async (
  one: Check,
  parameters: unknown,
  facts: Facts | PartInput | readonly PartInput[],
  ports: Partial<Ports> = {},
): Promise<CheckResult> => {
  const given = typeof facts === 'object' && 'texts' in facts ? facts : factsOf(facts as PartInput);
  return await one.run(given, schemaOf(one.parameters).parse(parameters), portsOf(ports));
};

/** Where parameters are at fault, as `path: message`. */
export const faultsOf = (one: Check, parameters: unknown): string[] =>
  (schemaOf(one.parameters).safeParse(parameters).error?.issues ?? []).map(
    ({ path, message }) => `${path.join('.')}: ${message}`,
  );
