import { Dialog as Base } from '@base-ui/react/dialog';
import { type FormEvent, type ReactNode, useId, useState } from 'react';
import { Actions, Button } from './button.tsx';
import { Field, Input } from './field.tsx';
import { Icon } from './icon.tsx';
import { ErrorNote } from './states.tsx';

export interface DialogProps {
  readonly title: string;
  readonly about?: ReactNode;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly width?: 'narrow' | 'medium' | 'wide';
  /** Buttons at the bottom. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

const CloseButton = () => (
  <Base.Close className="button button-quiet button-icon button-small" aria-label="Close">
    <Icon name="close" />
  </Base.Close>
);

/** Asks or shows something before the work goes on. Escape closes it, and the focus goes back to where it was. */
export const Dialog = ({ title, about, isOpen, onClose, width = 'medium', actions, children }: DialogProps) => (
  <Base.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
    <Base.Portal>
      <Base.Backdrop className="veil" />
      <Base.Popup className={`dialog dialog-${width}`}>
        <div className="dialog-head">
          <Base.Title className="dialog-title">{title}</Base.Title>
          <CloseButton />
        </div>
        {about && <Base.Description className="dialog-about soft">{about}</Base.Description>}
        <div className="dialog-body">{children}</div>
        {actions && <div className="dialog-foot">{actions}</div>}
      </Base.Popup>
    </Base.Portal>
  </Base.Root>
);

/** A dialog with a form: Enter sends it. `fault` is shown above the buttons. */
export function FormDialog({
  submit,
  isBusy = false,
  fault = null,
  onSubmit,
  children,
  ...rest
}: Omit<DialogProps, 'actions'> & {
  readonly submit: string;
  readonly isBusy?: boolean;
  readonly fault?: unknown;
  readonly onSubmit: () => void;
}) {
  const form = useId();
  const send = (event: FormEvent) => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <Dialog
      {...rest}
      actions={
        <Actions>
          <Button onClick={rest.onClose}>Cancel</Button>
          <Button look="primary" type="submit" form={form} isBusy={isBusy}>
            {submit}
          </Button>
        </Actions>
      }
    >
      <form id={form} className="stack gap-4" onSubmit={send}>
        {children}
        {fault !== null && fault !== undefined && <ErrorNote error={fault} />}
      </form>
    </Dialog>
  );
}

/** Before something is lost for good: says what goes with it, and asks for its name. */
export function ConfirmByName({
  title,
  name,
  action = 'Delete',
  isOpen,
  isBusy,
  fault,
  onClose,
  onConfirm,
  children,
}: {
  readonly title: string;
  /** What has to be typed. */
  readonly name: string;
  readonly action?: string;
  readonly isOpen: boolean;
  readonly isBusy?: boolean;
  readonly fault?: unknown;
  readonly onClose: () => void;
  readonly onConfirm: () => void;
  /** What will be lost. */
  readonly children: ReactNode;
}) {
  const [typed, setTyped] = useState('');
  const form = useId();
  const isRight = typed.trim() === name.trim();
  const close = () => {
    setTyped('');
    onClose();
  };
  return (
    <Dialog
      title={title}
      isOpen={isOpen}
      onClose={close}
      width="narrow"
      actions={
        <Actions>
          <Button onClick={close}>Cancel</Button>
          <Button look="danger" type="submit" form={form} disabled={!isRight} isBusy={isBusy}>
            {action}
          </Button>
        </Actions>
      }
    >
      <form
        id={form}
        className="stack gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (isRight) onConfirm();
        }}
      >
        <div>{children}</div>
        <Field
          label={
            <>
              Type <code className="to-type">{name}</code> to go on
            </>
          }
        >
          {(control) => (
            <Input {...control} value={typed} onChange={(event) => setTyped(event.target.value)} spellCheck={false} />
          )}
        </Field>
        {fault ? <ErrorNote error={fault} /> : null}
      </form>
    </Dialog>
  );
}

/** Details beside the list they belong to; the list stays in use. */
export const SidePanel = ({
  title,
  isOpen,
  onClose,
  actions,
  width = 'medium',
  children,
}: {
  readonly title: ReactNode;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly actions?: ReactNode;
  readonly width?: 'medium' | 'wide';
  readonly children: ReactNode;
}) => (
  <Base.Root open={isOpen} onOpenChange={(open) => !open && onClose()} modal={false} disablePointerDismissal>
    <Base.Portal>
      <Base.Popup className={`side-panel side-panel-${width}`} initialFocus={false}>
        <div className="dialog-head">
          <Base.Title className="dialog-title truncate">{title}</Base.Title>
          <div className="line gap-1">
            {actions}
            <CloseButton />
          </div>
        </div>
        <div className="side-panel-body">{children}</div>
      </Base.Popup>
    </Base.Portal>
  </Base.Root>
);
