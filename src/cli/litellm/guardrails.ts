import * as z from 'zod';
import { checked, type Findings } from '../../desired/reading/findings.ts';
import type { Source } from '../../desired/reading/source.ts';
import { PII_CATEGORIES } from '../../guardrails/checks/detect/pii.ts';

const entry = z.looseObject({
  guardrail_name: z.string().min(1),
  litellm_params: z.looseObject({
    guardrail: z.string().min(1),
    mode: z.union([z.string(), z.array(z.string())]).nullish(),
    default_on: z.boolean().nullish(),
    pii_entities_config: z.record(z.string(), z.unknown()).nullish(),
  }),
});
type Parameters = z.infer<typeof entry>['litellm_params'];

type Guardrail = Readonly<Record<string, unknown>>;

/** Those that judge every call and that the gateway has, too. The rest is said. */
export function guardrailsIn(
  source: Source,
  findings: Findings,
): { readonly input_guardrails?: readonly Guardrail[]; readonly output_guardrails?: readonly Guardrail[] } {
  const { guardrails } = (source.value ?? {}) as { guardrails?: unknown };
  if (!Array.isArray(guardrails)) return {};
  const input: Guardrail[] = [];
  const output: Guardrail[] = [];
  for (const [index, value] of guardrails.entries()) {
    const path = ['guardrails', index];
    const found = checked(entry, value, { source, path, findings });
    if (found === null) continue;
    const { guardrail_name: name, litellm_params: params } = found;
    const place = source.placeOf(path);
    const check = params.default_on
      ? checkOf(params, (says) => findings.note(place, `guardrail ${name} ${says}`))
      : null;
    if (check === null) {
      const why = params.default_on
        ? `${params.guardrail} has no counterpart`
        : 'calls ask for it, and configs do here';
      findings.leaveOut(place, `guardrail ${name}: ${why}`);
      continue;
    }
    const modes = [params.mode ?? 'pre_call'].flat();
    if (modes.some((mode) => mode !== 'post_call')) input.push(check);
    if (modes.includes('post_call')) output.push(check);
  }
  return {
    ...(input.length > 0 && { input_guardrails: input }),
    ...(output.length > 0 && { output_guardrails: output }),
  };
}

function checkOf({ guardrail, pii_entities_config }: Parameters, note: (says: string) => void): Guardrail | null {
  if (guardrail === 'hide-secrets' || guardrail === 'hide_secrets') {
    note('is done by default.secrets');
    return { deny: true, checks: [{ id: 'default.secrets', parameters: { redact: true } }] };
  }
  if (guardrail !== 'presidio') return null;
  const entities = Object.entries(pii_entities_config ?? {});
  if (entities.length === 0) {
    note('is done by default.pii');
    return { deny: true, checks: [{ id: 'default.pii', parameters: { redact: true } }] };
  }
  const known = entities.flatMap(([name, action]) => {
    const category = SAME[name] ?? name;
    const isBlocked = String(action).toUpperCase() === 'BLOCK';
    return (PII_CATEGORIES as readonly string[]).includes(category) ? [{ name, category, isBlocked }] : [];
  });
  if (known.length === 0) return null;
  const lost = entities.map(([name]) => name).filter((name) => !known.some((each) => each.name === name));
  note(`is done by default.pii${lost.length > 0 ? `, which does not know ${lost.join(', ')}` : ''}`);
  const checks = [false, true].flatMap((isBlocked) => {
    const categories = known.filter((each) => each.isBlocked === isBlocked).map(({ category }) => category);
    return categories.length > 0 ? [{ id: 'default.pii', parameters: { categories, redact: !isBlocked } }] : [];
  });
  return { deny: true, checks };
}

/** Presidio's names of what has another one here. */
const SAME: Readonly<Record<string, string>> = { US_SSN: 'SSN', IBAN_CODE: 'IBAN', UK_NHS: 'UK_NHS', ES_NIF: 'ES_DNI' };
