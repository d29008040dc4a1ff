import * as z from 'zod';
import { SECRET_NAME } from '../../auth/virtual-key.ts';
import { slugFrom } from '../../core/ids.ts';
import { rateLimits, usageLimit } from '../../core/limits.ts';
import type { VirtualKeyWish } from '../../desired/desired.ts';
import { checked, type Findings, pathText } from '../../desired/reading/findings.ts';
import { type Environment, type Reference, resolveSecret } from '../../desired/reading/secrets.ts';
import type { Path, Source } from '../../desired/reading/source.ts';
import { name as nameOf, slug as slugOf } from '../../http/resource.ts';

/** Portkey's older names of provider options. */
const OPTIONS: Readonly<Record<string, string>> = {
  apiVersion: 'azure_api_version',
  resourceName: 'azure_resource_name',
  deploymentName: 'azure_deployment_id',
  awsAccessKeyId: 'aws_access_key_id',
  awsSecretAccessKey: 'aws_secret_access_key',
  awsSessionToken: 'aws_session_token',
  awsRegion: 'aws_region',
  vertexProjectId: 'vertex_project_id',
  vertexRegion: 'vertex_region',
  vertexServiceAccountJson: 'vertex_service_account_json',
  workersAiAccountId: 'workers_ai_account_id',
};
/** What Portkey itself notes about a key. It has no meaning here and is not taken along. */
const IDLE = new Set(
  'id object status created_at last_updated_at reset_usage masked_key organisation_id workspace_id owner_id'.split(' '),
);

/** Portkey counts dollars unless it is told otherwise, and one limit needs no list. */
function withTypes(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  const limits = [(value as { usage_limits?: unknown }).usage_limits ?? []].flat();
  const typed = limits.map((each) => (each !== null && typeof each === 'object' ? { type: 'cost', ...each } : each));
  return { ...value, usage_limits: typed };
}

const entry = z.looseObject({
  name: nameOf(),
  slug: slugOf().nullish(),
  note: z.string().max(2_000).nullish(),
  provider: z.string().min(1).nullish(),
  ai_provider_name: z.string().min(1).nullish(),
  key: z.string().nullish(),
  custom_host: z.string().nullish(),
  configurations: z.record(z.string(), z.unknown()).nullish(),
  model_config: z.record(z.string(), z.unknown()).nullish(),
  rate_limits: rateLimits().nullish(),
  usage_limits: z.array(usageLimit()).max(10),
  expires_at: z.iso.datetime({ offset: true, error: 'give an ISO 8601 moment' }).nullish(),
});
const KNOWN = new Set(Object.keys(entry.shape));

export interface VirtualKeyReading {
  readonly source: Source;
  readonly findings: Findings;
  readonly workspace: string;
  readonly environment: Environment;
  readonly folder: string;
}

/** An export holds no secrets; in their place stands where each is kept: `env:NAME` or `file:PATH`. */
export function readVirtualKey(value: unknown, path: Path, reading: VirtualKeyReading): VirtualKeyWish | null {
  const { source, findings, workspace } = reading;
  const before = findings.count;
  const found = checked(entry, withTypes(value), { source, path, findings });
  if (found === null) return null;
  const fault = (field: string, says: string) =>
    findings.fault(source.placeOf([...path, field]), `${pathText([...path, field])}: ${says}`);
  const provider = found.provider ?? found.ai_provider_name;
  if (!provider) {
    fault('provider', 'is missing');
    return null;
  }
  const follow = (field: string, text: string): string | null => {
    const resolved = resolveSecret(referenceIn(text) ?? { env: '' }, reading);
    if (!referenceIn(text)) fault(field, 'give env:NAME or file:PATH; a secret itself does not belong in this file');
    else if (resolved.why !== undefined) fault(field, resolved.why);
    return resolved.why === undefined ? resolved.secret : null;
  };
  const configurations = optionsOf(found, follow);
  const holdsKey = Object.keys(configurations).some((name) => SECRET_NAME.test(name));
  if (!found.key && !holdsKey) fault('key', 'is missing: give env:NAME or file:PATH, where the credential is kept');
  for (const field of Object.keys(found)) {
    if (KNOWN.has(field) || IDLE.has(field) || field in OPTIONS || found[field] === null) continue;
    findings.leaveOut(source.placeOf([...path, field]), `virtual key ${found.name}: ${field} has no counterpart`);
  }
  const slug = found.slug ?? slugFrom(found.name, provider);
  const key = found.key ? follow('key', found.key) : null;
  if (findings.count > before) return null;
  return {
    place: source.placeOf(path),
    ref: `${workspace}/${slug}`,
    workspace,
    slug,
    key,
    fields: {
      name: found.name,
      note: found.note ?? null,
      provider,
      custom_host: found.custom_host || null,
      configurations,
      expires_at: found.expires_at ?? null,
      rate_limits: found.rate_limits ?? [],
      usage_limits: found.usage_limits,
    },
  };
}

/** Where a secret is kept; null: the text is something else. */
export function referenceIn(text: string): Reference | null {
  const [, kind, name = ''] = /^(env|file):(.+)$/s.exec(text) ?? [];
  if (kind === undefined) return null;
  return kind === 'env' ? { env: name } : { file: name };
}

function optionsOf(found: z.infer<typeof entry>, follow: (field: string, text: string) => string | null) {
  const options: Record<string, unknown> = {};
  const add = (name: string, value: unknown) => {
    const isSecret = typeof value === 'string' && (SECRET_NAME.test(name) || referenceIn(value) !== null);
    const ours = OPTIONS[name] ?? name;
    if (value !== null && value !== undefined) options[ours] = isSecret ? follow(name, value) : value;
  };
  for (const [name, value] of Object.entries({ ...found.model_config, ...found.configurations })) add(name, value);
  for (const name of Object.keys(OPTIONS)) if (name in found) add(name, found[name]);
  return options;
}
