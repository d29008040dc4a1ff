import { asNumber } from './numbers.ts';

/** `litellm_params` of one model. */
export type Parameters = Readonly<Record<string, unknown>>;

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/** Read elsewhere: who is asked, with which credential, how often, how long, for how much. */
const TAKEN = words(`
  model custom_llm_provider litellm_credential_name api_key api_base base_url api_version organization headers
  extra_headers aws_access_key_id aws_secret_access_key aws_session_token aws_region_name region_name aws_role_name
  aws_external_id vertex_project vertex_ai_project vertex_location vertex_ai_location vertex_credentials tenant_id
  client_id client_secret azure_ad_token account_id rpm tpm weight timeout request_timeout num_retries max_retries
  max_budget budget_duration additional_drop_params drop_params extra_body input_cost_per_token output_cost_per_token
  cache_read_input_token_cost cache_creation_input_token_cost
`);

/** What a call may say itself, and what LiteLLM adds to calls that do not. */
const DEFAULTS = words(`
  temperature top_p top_k min_p n stop max_tokens max_completion_tokens max_output_tokens presence_penalty
  frequency_penalty repetition_penalty logit_bias logprobs top_logprobs seed user response_format tools tool_choice
  parallel_tool_calls reasoning_effort reasoning thinking verbosity service_tier store stream_options modalities audio
  prediction prompt_cache_key prompt_cache_retention safety_identifier dimensions encoding_format input_type voice speed
  language size quality style background web_search_options enable_thinking chat_template_kwargs num_ctx num_predict
  keep_alive think safety_settings safetySettings provider models route transforms plugins usage instructions truncation
  include task truncate
`);

/** What LiteLLM itself notes of a model. Nothing of it changes what is sent or counted. */
const IDLE = words(`
  mode id base_model max_input_tokens input_modalities output_modalities created_by updated_by created_at updated_at
  db_model litellm_provider description health_check_timeout health_check_model disable_background_health_check source
`);
const isIdle = (name: string) => IDLE.has(name) || name.startsWith('supports_');

/** Parameters of each kind, by their names. */
export interface Sorted {
  /** Sent where the call does not say them. */
  readonly defaults: Readonly<Record<string, unknown>>;
  /** Taken out of every call; true: what the target cannot be told. */
  readonly drops: readonly string[] | true;
  /** Members that have no counterpart. */
  readonly unknown: readonly string[];
}

export function sorted(parameters: Parameters): Sorted {
  const defaults: Record<string, unknown> = {};
  const unknown: string[] = [];
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null || TAKEN.has(name) || isIdle(name)) continue;
    if (DEFAULTS.has(name)) defaults[name] = asNumber(value);
    else unknown.push(name);
  }
  const { extra_body: extra, additional_drop_params: dropped } = parameters;
  if (extra !== null && typeof extra === 'object' && !Array.isArray(extra)) Object.assign(defaults, extra);
  else if (extra !== undefined && extra !== null) unknown.push('extra_body');
  const isList = Array.isArray(dropped) && dropped.every((each) => typeof each === 'string' && each !== '');
  if (dropped !== undefined && dropped !== null && !isList) unknown.push('additional_drop_params');
  const named = isList ? (dropped as string[]) : [];
  return { defaults, drops: named.length === 0 && parameters.drop_params === true ? true : named, unknown };
}

/** Members of `model_info` that say more than LiteLLM notes for itself. */
export const unknownInfo = (info: Parameters): string[] =>
  Object.keys(info).filter(
    (name) => info[name] !== null && !isIdle(name) && !TAKEN.has(name) && name !== 'max_tokens' && !isCost(name),
  );

/** `input_cost_per_image`, `output_cost_per_second`, `input_cost_per_token_above_200k_tokens`, … */
export const isCost = (name: string): boolean => /_cost(_|$)/.test(name);
