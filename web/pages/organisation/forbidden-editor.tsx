import { useState } from 'react';
import type { BodyOf } from '../../api/client.ts';
import { Checkbox, Field, Textarea } from '../../design/field.tsx';
import { Stack } from '../../design/layout.tsx';

export type Rule = NonNullable<BodyOf<'/v1/admin/organisation', 'put'>['forbidden']>[number];

const GROUPS: readonly { readonly title: string; readonly rules: readonly (readonly [Rule, string])[] }[] = [
  {
    title: 'Configs',
    rules: [
      ['inline_config', 'A config that is written into the call'],
      ['config', 'Any config, also a stored one by its name'],
    ],
  },
  {
    title: 'Who is asked, and who pays',
    rules: [
      ['virtual_key', 'The name of a virtual key'],
      ['provider', 'The name of a provider'],
      ['api_key', 'A credential of a provider'],
      ['custom_host', 'Another host'],
    ],
  },
  {
    title: 'How it is asked',
    rules: [
      ['strategy', 'A strategy over several targets'],
      ['targets', 'Targets'],
      ['retry', 'Retries'],
      ['cache', 'The cache'],
      ['request_timeout', 'A time limit'],
      ['passthrough', 'Pass-through'],
      ['default_params', 'Parameters by default'],
      ['override_params', 'Parameters that override'],
      ['drop_params', 'Parameters to leave out'],
      ['forward_headers', 'Headers to hand on'],
      ['strict_open_ai_compliance', 'Strict compliance'],
      ['strip_model_prefix', 'Stripping of model prefixes'],
      ['input_guardrails', 'Guardrails for requests'],
      ['output_guardrails', 'Guardrails for answers'],
    ],
  },
  {
    title: 'What is noted',
    rules: [
      ['metadata', 'Metadata'],
      ['debug', 'The wish to be logged or not'],
    ],
  },
];
const SHOWN = new Set<string>(GROUPS.flatMap(({ rules }) => rules.map(([rule]) => rule)));

/** What calls may not bring along: ticks for what is common, and names for the rest. */
export function ForbiddenEditor({
  value,
  onChange,
  error,
}: {
  readonly value: readonly string[];
  readonly onChange: (value: readonly string[]) => void;
  readonly error?: string | null;
}) {
  const [others, setOthers] = useState(() => value.filter((each) => !SHOWN.has(each)).join('\n'));
  const ticked = value.filter((each) => SHOWN.has(each));
  const named = (text: string) => text.split(/[\s,]+/).filter(Boolean);
  const send = (ticks: readonly string[], text: string) => onChange([...ticks, ...named(text)]);
  return (
    <Stack gap={4}>
      {GROUPS.map(({ title, rules }) => (
        <fieldset key={title} className="organisation-rules">
          <legend className="field-label">{title}</legend>
          {rules.map(([rule, label]) => (
            <Checkbox
              key={rule}
              checked={ticked.includes(rule)}
              onChange={(isOn) => send(isOn ? [...ticked, rule] : ticked.filter((each) => each !== rule), others)}
              help={<code>{rule}</code>}
            >
              {label}
            </Checkbox>
          ))}
        </fieldset>
      ))}
      <Field
        label="Options of providers"
        isOptional
        help="One in a line, such as aws_region or openai_project."
        error={error}
      >
        {(control) => (
          <Textarea
            {...control}
            rows={2}
            spellCheck={false}
            value={others}
            onChange={(event) => {
              setOthers(event.target.value);
              send(ticked, event.target.value);
            }}
          />
        )}
      </Field>
    </Stack>
  );
}
