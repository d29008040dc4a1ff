import { type FormEvent, type ReactNode, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Button } from '../design/button.tsx';
import { Field, Input } from '../design/field.tsx';
import { Logo } from '../design/icon.tsx';
import { ErrorNote } from '../design/states.tsx';
import { Invited } from './invited.tsx';
import { SignIn } from './sign-in.tsx';
import { Welcome } from './welcome.tsx';

/** Links that let people in carry their token behind `#`, where servers and logs do not see it. */
const LINK = /^#(invite|owner)=([\w-]{1,200})$/;

/** The pages before the console: no router and no kit, so that they are there at once. */
export function open(root: HTMLElement, notice: string | null) {
  const [, kind, token = ''] = LINK.exec(location.hash) ?? [];
  // Neither the history nor a picture of the screen keeps it.
  if (location.hash) history.replaceState(null, '', location.pathname + location.search);
  document.title = `${kind ? 'Welcome' : 'Sign in'} · Gateway`;
  createRoot(root).render(
    kind === 'owner' ? (
      <Welcome token={token} />
    ) : kind === 'invite' ? (
      <Invited token={token} />
    ) : (
      <SignIn notice={notice} />
    ),
  );
}

export const Door = ({
  title,
  about,
  children,
}: {
  readonly title: string;
  readonly about?: ReactNode;
  readonly children: ReactNode;
}) => (
  <main className="door">
    <div className="door-card">
      <Logo size={36} />
      <h1>{title}</h1>
      {about && <p className="soft">{about}</p>}
      {children}
    </div>
  </main>
);

/** Into the console, as if the page had just been opened. */
export const enter = () => location.assign('/console');

/** A form of a door: sends, waits, and says what was wrong. */
export function DoorForm({
  submit,
  work,
  children,
}: {
  readonly submit: string;
  readonly work: () => Promise<void>;
  readonly children: ReactNode;
}) {
  const [fault, setFault] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const send = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setFault(null);
    try {
      await work();
    } catch (error) {
      setFault(error);
      setBusy(false);
    }
  };
  return (
    <form className="stack gap-4" onSubmit={send}>
      {children}
      {fault !== null && <ErrorNote error={fault} />}
      <Button look="primary" type="submit" isBusy={isBusy}>
        {submit}
      </Button>
    </form>
  );
}

export const TextField = ({
  label,
  value,
  onChange,
  ...rest
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly type?: 'email' | 'password' | 'text';
  readonly autoComplete?: string;
  readonly help?: string;
  readonly autoFocus?: boolean;
  readonly minLength?: number;
  readonly isOptional?: boolean;
}) => {
  const { help, isOptional = false, ...input } = rest;
  return (
    <Field label={label} help={help} isOptional={isOptional}>
      {(control) => (
        <Input
          {...control}
          {...input}
          required={!isOptional}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
};
