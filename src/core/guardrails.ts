/** A guardrail by its slug or id, or written out where it is used. */
export type GuardrailReference = string | Readonly<Record<string, unknown>>;

/** Which guardrails look at requests, and which at answers. */
export interface GuardrailUse {
  readonly input: readonly GuardrailReference[];
  readonly output: readonly GuardrailReference[];
}

/** What keys, workspaces and the organisation say of it. */
export interface GuardrailDefaults {
  readonly input_guardrails?: readonly string[];
  readonly output_guardrails?: readonly string[];
}

/** All that several levels ask for, the outermost first; undefined: nothing, so that a call need not look. */
export function guardrailsOf(levels: readonly GuardrailDefaults[]): GuardrailUse | undefined {
  const named = (side: keyof GuardrailDefaults) => [...new Set(levels.flatMap((level) => level[side] ?? []))];
  const use = { input: named('input_guardrails'), output: named('output_guardrails') };
  return use.input.length + use.output.length > 0 ? use : undefined;
}
