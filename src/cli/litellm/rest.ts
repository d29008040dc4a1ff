import type { Findings } from '../reading/findings.ts';
import type { Source } from '../reading/source.ts';
import { isRouting } from './routing.ts';

/** Read elsewhere. */
const TAKEN = new Set(['model_list', 'credential_list', 'environment_variables']);

const WHY: Readonly<Record<string, string>> = {
  'general_settings.master_key': 'is not imported: the admin key of the gateway is GATEWAY_ADMIN_KEY',
  'general_settings.database_url': 'is not needed: keys come from --keys',
  'litellm_settings.callbacks': 'are not known here; GET /v1/logs and /metrics show what was called',
  'litellm_settings.success_callback': 'is not known here; GET /v1/logs and /metrics show what was called',
  'litellm_settings.failure_callback': 'is not known here; GET /v1/logs and /metrics show what was called',
};

/** Every setting outside the model list, so that nothing is lost without a word. */
export function sayWhatElse(source: Source, findings: Findings) {
  const config = (source.value ?? {}) as Record<string, unknown>;
  for (const [section, value] of Object.entries(config)) {
    if (TAKEN.has(section) || value === null) continue;
    const members = typeof value === 'object' && !Array.isArray(value) ? Object.keys(value) : [];
    if (members.length === 0) findings.leaveOut(source.placeOf([section]), `${section} has no counterpart`);
    for (const member of members) {
      if (isRouting(section, member)) continue;
      const name = `${section}.${member}`;
      findings.leaveOut(source.placeOf([section, member]), `${name} ${WHY[name] ?? 'has no counterpart'}`);
    }
  }
}

/** LiteLLM sets these variables itself before it resolves `os.environ/…`. */
export function variablesIn(source: Source): Record<string, string> {
  const { environment_variables } = (source.value ?? {}) as { environment_variables?: unknown };
  const pairs = Object.entries((environment_variables as object | null | undefined) ?? {});
  return Object.fromEntries(
    pairs
      .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
      .map(([name, value]) => [name, String(value)]),
  );
}
