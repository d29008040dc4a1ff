import { useApi } from '../../api/hooks.ts';
import { Button } from '../../design/button.tsx';
import { Checkbox, Field, Input, Select, Switch, Textarea } from '../../design/field.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import type { Draft } from './draft.ts';

const EFFORTS = ['', 'none', 'minimal', 'low', 'medium', 'high'].map((value) => ({
  value,
  label: value || 'as usual',
}));

const TOOLS = JSON.stringify(
  [
    {
      type: 'function',
      function: {
        name: 'get_weather',
        description: 'Says how the weather is in a city.',
        parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      },
    },
  ],
  null,
  2,
);
const SCHEMA = JSON.stringify(
  {
    type: 'object',
    properties: { answer: { type: 'string' }, confidence: { type: 'number' } },
    required: ['answer', 'confidence'],
    additionalProperties: false,
  },
  null,
  2,
);

/** What goes with every call beside the messages. */
export function Settings({
  draft,
  faults,
  onChange,
}: {
  readonly draft: Draft;
  readonly faults: { readonly tools: string | null; readonly schema: string | null };
  readonly onChange: (part: Partial<Draft>) => void;
}) {
  return (
    <aside className="card play-settings" aria-label="Settings of the call">
      <Field label="System prompt">
        {(control) => (
          <Textarea
            {...control}
            rows={5}
            placeholder="You are a helpful assistant."
            value={draft.system}
            onChange={(event) => onChange({ system: event.target.value })}
          />
        )}
      </Field>
      <div className="play-numbers">
        <Numeral
          label="Temperature"
          value={draft.temperature}
          most="2"
          onChange={(temperature) => onChange({ temperature })}
        />
        <Numeral label="Top P" value={draft.topP} most="1" onChange={(topP) => onChange({ topP })} />
        <Numeral label="Most tokens" value={draft.maxTokens} onChange={(maxTokens) => onChange({ maxTokens })} />
        <Field label="Reasoning">
          {(control) => (
            <Select {...control} value={draft.effort} choices={EFFORTS} onChange={(effort) => onChange({ effort })} />
          )}
        </Field>
      </div>
      <Switch checked={draft.isStream} onChange={(isStream) => onChange({ isStream })}>
        Stream the answer
      </Switch>
      <GuardrailChoice draft={draft} onChange={onChange} />
      <JsonField
        label="Tools"
        help="Functions that the model may call; you write what they answer."
        example={TOOLS}
        value={draft.tools}
        fault={faults.tools}
        onChange={(tools) => onChange({ tools })}
      />
      <JsonField
        label="Schema of the answer"
        help="A JSON schema that the answer must fit."
        example={SCHEMA}
        value={draft.schema}
        fault={faults.schema}
        onChange={(schema) => onChange({ schema })}
      />
    </aside>
  );
}

const Numeral = ({
  label,
  value,
  most,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  readonly most?: string;
  readonly onChange: (value: string) => void;
}) => (
  <Field label={label}>
    {(control) => (
      <Input
        {...control}
        type="number"
        min="0"
        max={most}
        step="any"
        placeholder="as usual"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    )}
  </Field>
);

function JsonField({
  label,
  help,
  example,
  value,
  fault,
  onChange,
}: {
  readonly label: string;
  readonly help: string;
  readonly example: string;
  readonly value: string;
  readonly fault: string | null;
  readonly onChange: (value: string) => void;
}) {
  return (
    <div className="play-json">
      <Field label={label} help={help} error={fault}>
        {(control) => (
          <Textarea
            {...control}
            className="mono"
            rows={value ? Math.min(14, value.split('\n').length + 1) : 2}
            spellCheck={false}
            value={value}
            onChange={(event) => onChange(event.target.value)}
          />
        )}
      </Field>
      {!value && (
        <Button size="small" look="quiet" onClick={() => onChange(example)}>
          Begin with an example
        </Button>
      )}
    </div>
  );
}

function GuardrailChoice({
  draft,
  onChange,
}: {
  readonly draft: Draft;
  readonly onChange: (part: Partial<Draft>) => void;
}) {
  const { id: workspace_id } = useWorkspace();
  const may = useMay();
  const guardrails = useApi(
    '/v1/guardrails',
    { query: { workspace_id, page_size: 100 } },
    { enabled: may('guardrails.list') },
  ).data?.data;
  if (!guardrails || guardrails.length === 0) return null;
  const list = (label: string, chosen: readonly string[], set: (slugs: readonly string[]) => void) => (
    <fieldset className="play-guardrails">
      <legend className="field-label">{label}</legend>
      {guardrails.map(({ slug, name }) => (
        <Checkbox
          key={slug}
          checked={chosen.includes(slug)}
          onChange={(isOn) => set(isOn ? [...chosen, slug] : chosen.filter((each) => each !== slug))}
        >
          {name}
        </Checkbox>
      ))}
    </fieldset>
  );
  return (
    <>
      {list('Guardrails of the request', draft.inputGuardrails, (inputGuardrails) => onChange({ inputGuardrails }))}
      {list('Guardrails of the answer', draft.outputGuardrails, (outputGuardrails) => onChange({ outputGuardrails }))}
    </>
  );
}
