import { useApi } from '../../api/hooks.ts';
import type { ApiKey } from '../../api/types.d.ts';
import { Field, Input, Select } from '../../design/field.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { metadataOf } from '../routing/dry-run.tsx';

/** What calls of a key use when they say nothing else. */
export interface DefaultsDraft {
  readonly virtualKey: string;
  readonly config: string;
  readonly metadata: string;
  readonly input: string;
  readonly output: string;
}

const listed = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : '');
const names = (text: string): string[] =>
  text
    .split(/[\s,]+/)
    .map((each) => each.trim())
    .filter(Boolean);

export const defaultsIn = ({ defaults }: ApiKey): DefaultsDraft => ({
  virtualKey: String(defaults.virtual_key ?? ''),
  config: String(defaults.config ?? ''),
  metadata: Object.entries((defaults.metadata ?? {}) as Record<string, string>)
    .map(([name, value]) => `${name}=${value}`)
    .join(', '),
  input: listed(defaults.input_guardrails),
  output: listed(defaults.output_guardrails),
});

/** All of them, because what is sent takes the place of what was there; what has no field here stays. */
export function defaultsFrom(draft: DefaultsDraft, { defaults }: ApiKey): Record<string, unknown> {
  const { config_id: _id, allow_config_override: _override, ...before } = defaults;
  const { virtual_key: _key, config: _config, metadata: _metadata, ...rest } = before;
  const metadata = metadataOf(draft.metadata);
  return {
    ...rest,
    ...(draft.virtualKey && { virtual_key: draft.virtualKey }),
    ...(draft.config && { config: draft.config }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
    input_guardrails: names(draft.input),
    output_guardrails: names(draft.output),
  };
}

/** Those that are there, and the one that is chosen, whether it still is or not. */
const choicesOf = (known: readonly { slug: string; name: string }[] | undefined, chosen: string, none: string) => [
  { value: '', label: none },
  ...(known ?? []).map(({ slug, name }) => ({ value: slug, label: name })),
  ...(chosen && !known?.some(({ slug }) => slug === chosen) ? [{ value: chosen, label: chosen }] : []),
];

export function DefaultsField({
  draft,
  fault,
  onChange,
}: {
  readonly draft: DefaultsDraft;
  readonly fault: (param: string) => string | null;
  readonly onChange: (draft: DefaultsDraft) => void;
}) {
  const { id: workspace_id } = useWorkspace();
  const may = useMay();
  const query = { workspace_id, page_size: 200 };
  const providers = useApi('/v1/virtual-keys', { query }, { enabled: may('virtual_keys.list') });
  const configs = useApi('/v1/configs', { query }, { enabled: may('configs.list') });
  const set = (change: Partial<DefaultsDraft>) => onChange({ ...draft, ...change });
  const guardrails = (label: string, member: 'input' | 'output') => (
    <Field
      label={label}
      isOptional
      help="Slugs of guardrails, with commas between them."
      error={fault(`defaults.${member}_guardrails`)}
    >
      {(control) => (
        <Input
          {...control}
          spellCheck={false}
          placeholder="no-secrets"
          value={draft[member]}
          onChange={(event) => set({ [member]: event.target.value })}
        />
      )}
    </Field>
  );
  return (
    <div className="stack gap-3">
      <Field label="Provider" error={fault('defaults.virtual_key')}>
        {(control) => (
          <Select
            {...control}
            value={draft.virtualKey}
            onChange={(virtualKey) => set({ virtualKey })}
            choices={choicesOf(providers.data?.data, draft.virtualKey, 'Calls name it themselves')}
          />
        )}
      </Field>
      <Field label="Config" error={fault('defaults.config')}>
        {(control) => (
          <Select
            {...control}
            value={draft.config}
            onChange={(config) => set({ config })}
            choices={choicesOf(configs.data?.data, draft.config, 'None')}
          />
        )}
      </Field>
      <Field label="Metadata" isOptional help="Added to every call." error={fault('defaults.metadata')}>
        {(control) => (
          <Input
            {...control}
            placeholder="team=search, tier=paid"
            value={draft.metadata}
            onChange={(event) => set({ metadata: event.target.value })}
          />
        )}
      </Field>
      {guardrails('Guardrails for requests', 'input')}
      {guardrails('Guardrails for answers', 'output')}
    </div>
  );
}
