import { useState } from 'react';
import { meanings, type Schema } from './editor/schema.ts';
import { Checkbox, Field, Input, Select, Switch, Textarea } from './field.tsx';

export type JsonObject = Readonly<Record<string, unknown>>;

export interface SchemaFormProps {
  /** Of an object. */
  readonly schema: Schema;
  readonly value: JsonObject;
  readonly onChange: (value: JsonObject) => void;
  /** Members whose values are not shown. */
  readonly secrets?: readonly string[];
  /** Texts that a member may hold, by its name: none yet while they are on their way, so that the field stays the same. */
  readonly values?: Readonly<Record<string, readonly string[]>>;
  readonly errorOf?: (name: string) => string | null;
  readonly isReadOnly?: boolean;
}

/** `minSentences` → `Min sentences`, `webhookURL` → `Webhook URL`. */
export const labelOf = (name: string): string => {
  const words = name
    .replaceAll('_', ' ')
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .split(' ')
    .map((word) => (/^[A-Z\d]{2,}$/.test(word) ? word : word.toLowerCase()));
  const text = words.join(' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
};

/** A form that is made from the schema of an object: what is required first, and switches last. */
export function SchemaForm({ schema, value, onChange, ...rest }: SchemaFormProps) {
  const required = new Set(schema.required ?? []);
  const members = Object.entries(schema.properties ?? {});
  const rank = ([name, member]: (typeof members)[number]) =>
    required.has(name) ? 0 : kindOf(member, schema) === 'switch' ? 2 : 1;
  const set = (name: string, next: unknown) => {
    const { [name]: _, ...others } = value;
    onChange(next === undefined ? others : { ...others, [name]: next });
  };
  return (
    <div className="schema-form">
      {members
        .toSorted((one, other) => rank(one) - rank(other))
        .map(([name, member]) => (
          <Member
            key={name}
            name={name}
            member={member}
            root={schema}
            isRequired={required.has(name)}
            value={value[name]}
            onChange={(next) => set(name, next)}
            {...rest}
          />
        ))}
    </div>
  );
}

type Kind = 'switch' | 'choice' | 'choices' | 'lines' | 'number' | 'text' | 'json';

/** The meaning that a form shows: of several, a list of choices is the widest. */
const meantBy = (member: Schema, root: Schema): Schema => {
  const all = meanings(member, root);
  return all.find(({ type }) => type === 'array') ?? all[0] ?? member;
};

function kindOf(member: Schema, root: Schema): Kind {
  const meant = meantBy(member, root);
  if (meant.type === 'boolean') return meanings(member, root).length > 1 ? 'json' : 'switch';
  if (meant.enum) return 'choice';
  if (meant.type === 'array') {
    const of = meant.items ? meantBy(meant.items, root) : {};
    return of.enum ? 'choices' : of.type === 'string' ? 'lines' : 'json';
  }
  if (meant.type === 'number' || meant.type === 'integer') return 'number';
  return meant.type === 'string' ? 'text' : 'json';
}

interface MemberProps extends Pick<SchemaFormProps, 'secrets' | 'values' | 'errorOf' | 'isReadOnly'> {
  readonly name: string;
  readonly member: Schema;
  readonly root: Schema;
  readonly isRequired: boolean;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

const LONG_TEXT = 10_000;

function Member(props: MemberProps) {
  const { name, member, root, isRequired, value, onChange, secrets = [], values = {}, isReadOnly = false } = props;
  const meant = meantBy(member, root);
  const kind = kindOf(member, root);
  const label = labelOf(name);
  const error = props.errorOf?.(name) ?? null;
  const otherwise = member.default ?? meant.default;
  const help = member.description ?? meant.description;
  if (kind === 'switch')
    return (
      <Switch checked={(value ?? otherwise) === true} onChange={onChange} disabled={isReadOnly} help={error ?? help}>
        {label}
      </Switch>
    );
  if (kind === 'choices')
    return (
      <Choices label={label} choices={textsOf(meantBy(meant.items!, root).enum)} {...props} otherwise={otherwise} />
    );
  const known = Object.hasOwn(values, name) ? values[name]! : null;
  const field = { label, help, error, isOptional: !isRequired };
  if (kind === 'json') return <JsonField {...field} value={value} onChange={onChange} isReadOnly={isReadOnly} />;
  return (
    <Field {...field}>
      {(control) => {
        const common = { ...control, required: isRequired, disabled: isReadOnly };
        if (kind === 'choice' || (kind === 'text' && known)) {
          const choices = kind === 'choice' ? textsOf(meant.enum) : known!;
          const chosen = String(value ?? otherwise ?? '');
          const all = chosen === '' || !choices.includes(chosen) ? [chosen, ...choices] : choices;
          return (
            <Select
              {...common}
              value={chosen}
              choices={all.map((each) => ({ value: each, label: each || 'Choose…' }))}
              onChange={(next) => onChange(next === '' ? undefined : next)}
            />
          );
        }
        if (kind === 'lines')
          return (
            <Textarea
              {...common}
              placeholder="One on each line"
              value={Array.isArray(value) ? value.join('\n') : ''}
              onChange={(event) => onChange(event.target.value === '' ? undefined : event.target.value.split('\n'))}
            />
          );
        if (kind === 'text' && ((meant.maxLength as number | undefined) ?? 0) >= LONG_TEXT)
          return (
            <Textarea
              {...common}
              value={String(value ?? '')}
              onChange={(event) => onChange(event.target.value || undefined)}
            />
          );
        const placeholder = otherwise === undefined ? undefined : String(otherwise);
        if (kind === 'number')
          return (
            <Input
              {...common}
              type="number"
              step={meant.type === 'integer' ? 1 : 'any'}
              placeholder={placeholder}
              value={value === undefined ? '' : String(value)}
              onChange={(event) => onChange(event.target.value === '' ? undefined : Number(event.target.value))}
            />
          );
        return (
          <Input
            {...common}
            type={secrets.includes(name) ? 'password' : 'text'}
            autoComplete={secrets.includes(name) ? 'new-password' : 'off'}
            spellCheck={false}
            placeholder={placeholder}
            value={String(value ?? '')}
            onChange={(event) => onChange(event.target.value || undefined)}
          />
        );
      }}
    </Field>
  );
}

const textsOf = (values: readonly unknown[] = []): string[] => values.map(String);

function Choices({
  label,
  choices,
  value,
  otherwise,
  onChange,
  isReadOnly,
  errorOf,
  name,
}: MemberProps & { readonly label: string; readonly choices: readonly string[]; readonly otherwise: unknown }) {
  const given = value ?? otherwise;
  const chosen = textsOf(Array.isArray(given) ? given : given === undefined ? [] : [given]);
  const error = errorOf?.(name);
  return (
    <fieldset className="schema-choices">
      <legend className="field-label">{label}</legend>
      <div className="schema-choices-list">
        {choices.map((each) => (
          <Checkbox
            key={each}
            checked={chosen.includes(each)}
            disabled={isReadOnly}
            onChange={(isOn) => onChange(choices.filter((one) => (one === each ? isOn : chosen.includes(one))))}
          >
            <span className="small">{each}</span>
          </Checkbox>
        ))}
      </div>
      {error && (
        <div className="field-error" role="alert">
          {error}
        </div>
      )}
    </fieldset>
  );
}

/** What has no simpler form, as JSON. What is no JSON yet is kept here and not given on. */
function JsonField({
  value,
  onChange,
  isReadOnly,
  error,
  ...field
}: {
  readonly label: string;
  readonly help?: string;
  readonly error: string | null;
  readonly isOptional: boolean;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly isReadOnly: boolean;
}) {
  const [typed, setTyped] = useState<{ readonly text: string; readonly meant: unknown; readonly isJson: boolean }>();
  // What was typed stands as long as it means the value; what came from elsewhere takes its place.
  const isOwn = typed !== undefined && JSON.stringify(typed.meant) === JSON.stringify(value);
  const text = isOwn ? typed.text : value === undefined ? '' : JSON.stringify(value, null, 2);
  const fault = isOwn && !typed.isJson ? 'This is not JSON yet.' : null;
  const change = (next: string) => {
    try {
      const meant = next.trim() === '' ? undefined : JSON.parse(next);
      setTyped({ text: next, meant, isJson: true });
      onChange(meant);
    } catch {
      setTyped({ text: next, meant: value, isJson: false });
    }
  };
  return (
    <Field {...field} error={fault ?? error}>
      {(control) => (
        <Textarea
          {...control}
          className="mono"
          placeholder="JSON"
          disabled={isReadOnly}
          spellCheck={false}
          value={text}
          onChange={(event) => change(event.target.value)}
        />
      )}
    </Field>
  );
}
