import type { Findings } from '../../desired/reading/findings.ts';
import type { Source } from '../../desired/reading/source.ts';
import { isRouting } from './settings.ts';

/** Read elsewhere. */
const TAKEN = new Set(['model_list', 'credential_list', 'environment_variables', 'guardrails', 'include']);

const LOGS = 'is not known here; GET /v1/logs and /metrics show what was called';
const STORE = 'is never used: the gateway has a store of its own, and keys come from --keys';
const BY_LIMITS = 'is not known here: give the workspace a budget or make a policy';
const OTHER_FALLBACKS = 'is not known here: a fallback is taken after every failure, whatever its reason';

const WHY: Readonly<Record<string, string>> = {
  'general_settings.master_key': 'is not imported: the admin key of the gateway is GATEWAY_ADMIN_KEY',
  'general_settings.database_url': STORE,
  'general_settings.database_type': STORE,
  'general_settings.store_model_in_db':
    'is not known here: models that LiteLLM keeps in its database are not in this file',
  'general_settings.alerting': 'is not taken over; /v1/alerts tells Slack and others of budgets, errors and more',
  'litellm_settings.callbacks': LOGS,
  'litellm_settings.success_callback': LOGS,
  'litellm_settings.failure_callback': LOGS,
  'litellm_settings.service_callback': LOGS,
  'litellm_settings.max_budget': BY_LIMITS,
  'litellm_settings.budget_duration': BY_LIMITS,
  'litellm_settings.context_window_fallbacks': OTHER_FALLBACKS,
  'litellm_settings.content_policy_fallbacks': OTHER_FALLBACKS,
  'router_settings.context_window_fallbacks': OTHER_FALLBACKS,
  'router_settings.content_policy_fallbacks': OTHER_FALLBACKS,
  'router_settings.provider_budget_config': 'is not known here: give the virtual keys budgets',
};

/** Of whole sections. */
const SECTIONS: Readonly<Record<string, string>> = {
  mcp_servers: 'is not imported: register the servers at POST /v1/mcp-servers',
  mcp_tools: 'is not imported: register the servers at POST /v1/mcp-servers',
  vector_store_registry: 'is not imported: make vector stores at POST /v1/vector_stores',
};

const REDIS = /^redis_(url|host|port|password|username|ssl)$/;

/** Every setting outside the model list, so that nothing is lost without a word. */
export function sayWhatElse(source: Source, findings: Findings) {
  const config = (source.value ?? {}) as Record<string, unknown>;
  for (const [section, value] of Object.entries(config)) {
    if (TAKEN.has(section) || value === null) continue;
    const members = typeof value === 'object' && !Array.isArray(value) ? Object.entries(value) : [];
    if (SECTIONS[section] || members.length === 0) {
      const isEmpty = typeof value === 'object' && Object.keys(value).length === 0;
      if (!isEmpty)
        findings.leaveOut(source.placeOf([section]), `${section} ${SECTIONS[section] ?? 'has no counterpart'}`);
      continue;
    }
    for (const [member, set] of members) {
      if (isRouting(section, member) || set === null || set === false) continue;
      const name = `${section}.${member}`;
      const why = WHY[name] ?? (REDIS.test(member) ? 'is not used: the gateway has REDIS_URL' : 'has no counterpart');
      findings.leaveOut(source.placeOf([section, member]), `${name} ${why}`);
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
