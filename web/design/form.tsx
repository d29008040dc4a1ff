import type { ReactNode } from 'react';
import type { ApiFault } from '../api/fault.ts';
import { Field, Input, Select, Switch, Textarea } from './field.tsx';

/** One field of a form, as data. */
export interface FormField {
  readonly name: string;
  readonly label: string;
  readonly kind: 'text' | 'secret' | 'number' | 'select' | 'switch' | 'textarea' | 'lines';
  readonly help?: ReactNode;
  readonly isRequired?: boolean;
  readonly placeholder?: string;
  readonly choices?: readonly { readonly value: string; readonly label: string }[];
}

export type FormValue = Readonly<Record<string, string | boolean>>;

/** What is wrong with a field, from the fault of the server: `options.region` means `region`, too. */
const errorOf = (fault: ApiFault | null | undefined, name: string): string | null =>
  fault?.param && (fault.param === name || fault.param.endsWith(`.${name}`) || fault.param.startsWith(`${name}.`))
    ? fault.message
    : null;

/** Fields that are known only when the page runs, such as the options of a provider. */
export const Fields = ({
  fields,
  value,
  onChange,
  fault,
}: {
  readonly fields: readonly FormField[];
  readonly value: FormValue;
  readonly onChange: (value: FormValue) => void;
  readonly fault?: ApiFault | null;
}) =>
  fields.map((field) => (
    <OneField
      key={field.name}
      field={field}
      value={value[field.name]}
      error={errorOf(fault, field.name)}
      onChange={(next) => onChange({ ...value, [field.name]: next })}
    />
  ));

function OneField({
  field,
  value = '',
  error,
  onChange,
}: {
  readonly field: FormField;
  readonly value: string | boolean | undefined;
  readonly error: string | null;
  readonly onChange: (value: string | boolean) => void;
}) {
  const { label, help, kind, isRequired = false, placeholder, choices = [] } = field;
  if (kind === 'switch')
    return (
      <Switch checked={value === true} onChange={onChange} help={error ?? help}>
        {label}
      </Switch>
    );
  const text = String(value);
  const common = { required: isRequired, placeholder };
  return (
    <Field label={label} help={help} error={error} isOptional={!isRequired}>
      {(control) =>
        kind === 'select' ? (
          <Select {...control} {...common} value={text} choices={choices} onChange={onChange} />
        ) : kind === 'textarea' || kind === 'lines' ? (
          <Textarea {...control} {...common} value={text} onChange={(event) => onChange(event.target.value)} />
        ) : (
          <Input
            {...control}
            {...common}
            type={kind === 'secret' ? 'password' : kind === 'number' ? 'number' : 'text'}
            step={kind === 'number' ? 'any' : undefined}
            autoComplete={kind === 'secret' ? 'new-password' : 'off'}
            spellCheck={false}
            value={text}
            onChange={(event) => onChange(event.target.value)}
          />
        )
      }
    </Field>
  );
}
