import {
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react';
import { Icon, type IconName } from './icon.tsx';

export interface FieldProps {
  readonly label: ReactNode;
  /** What the field means, below it. */
  readonly help?: ReactNode;
  /** What is wrong with its value. */
  readonly error?: string | null;
  readonly isOptional?: boolean;
  /** Gets what ties the control to its label. */
  readonly children: (control: {
    id: string;
    'aria-describedby': string | undefined;
    'aria-invalid': true | undefined;
  }) => ReactNode;
}

/** A label, a control, and what is to be said about it. */
export function Field({ label, help, error, isOptional, children }: FieldProps) {
  const id = useId();
  const about = `${id}-about`;
  return (
    <div className="field">
      <label className="field-label" htmlFor={id}>
        {label}
        {isOptional && <span className="soft"> (optional)</span>}
      </label>
      {children({
        id,
        'aria-describedby': help || error ? about : undefined,
        'aria-invalid': error ? true : undefined,
      })}
      {(error || help) && (
        <div id={about} className={error ? 'field-error' : 'field-help'} role={error ? 'alert' : undefined}>
          {error || help}
        </div>
      )}
    </div>
  );
}

export interface InputProps extends InputHTMLAttributes<HTMLInputElement> {
  readonly icon?: IconName;
  readonly ref?: Ref<HTMLInputElement>;
}

export function Input({ icon, className = '', ...rest }: InputProps) {
  const control = <input autoComplete="off" {...rest} className={`input ${className}`} />;
  if (!icon) return control;
  return (
    <span className="input-with-icon">
      <Icon name={icon} />
      {control}
    </span>
  );
}

export const Textarea = ({ className = '', ...rest }: TextareaHTMLAttributes<HTMLTextAreaElement>) => (
  <textarea rows={3} {...rest} className={`input textarea ${className}`} />
);

export interface Choice<Value extends string = string> {
  readonly value: Value;
  readonly label: string;
}

export interface SelectProps<Value extends string>
  extends Omit<SelectHTMLAttributes<HTMLSelectElement>, 'value' | 'onChange'> {
  readonly value: Value;
  readonly choices: readonly Choice<Value>[];
  readonly onChange: (value: Value) => void;
}

/** The browser's own list: it works with every keyboard, screen reader and phone. */
export function Select<Value extends string>({
  value,
  choices,
  onChange,
  className = '',
  ...rest
}: SelectProps<Value>) {
  return (
    <span className={`select ${className}`}>
      <select {...rest} className="input" value={value} onChange={(event) => onChange(event.target.value as Value)}>
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
      </select>
      <Icon name="down" />
    </span>
  );
}

interface TickProps {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean;
  readonly help?: ReactNode;
  readonly children: ReactNode;
}

export const Checkbox = ({ checked, onChange, disabled, help, children }: TickProps) => (
  <label className="tick">
    <input type="checkbox" checked={checked} disabled={disabled} onChange={(event) => onChange(event.target.checked)} />
    <span>
      {children}
      {help && <span className="field-help">{help}</span>}
    </span>
  </label>
);

export const Switch = ({ checked, onChange, disabled, help, children }: TickProps) => (
  <label className="tick">
    <input
      type="checkbox"
      role="switch"
      aria-checked={checked}
      className="switch"
      checked={checked}
      disabled={disabled}
      onChange={(event) => onChange(event.target.checked)}
    />
    <span>
      {children}
      {help && <span className="field-help">{help}</span>}
    </span>
  </label>
);

/** A few choices of which one holds, side by side. */
export function Segmented<Value extends string>({
  label,
  value,
  choices,
  onChange,
}: {
  readonly label: string;
  readonly value: Value;
  readonly choices: readonly Choice<Value>[];
  readonly onChange: (value: Value) => void;
}) {
  return (
    <fieldset className="segmented">
      <legend className="hidden-visually">{label}</legend>
      {choices.map((choice) => (
        <button
          key={choice.value}
          type="button"
          aria-pressed={choice.value === value}
          onClick={() => onChange(choice.value)}
        >
          {choice.label}
        </button>
      ))}
    </fieldset>
  );
}
