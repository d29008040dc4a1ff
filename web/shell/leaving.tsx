import { useBlocker } from '@tanstack/react-router';
import { Actions, Button } from '../design/button.tsx';
import { Dialog } from '../design/dialog.tsx';

/** Asks before what was written and not saved is lost. */
export function Leaving({ isChanged, what }: { readonly isChanged: boolean; readonly what: string }) {
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => isChanged && current.pathname !== next.pathname,
    enableBeforeUnload: isChanged,
    withResolver: true,
  });
  if (blocker.status !== 'blocked') return null;
  return (
    <Dialog
      title="Leave without saving?"
      width="narrow"
      isOpen
      onClose={blocker.reset}
      actions={
        <Actions>
          <Button look="danger" onClick={blocker.proceed}>
            Leave
          </Button>
          <Button look="primary" onClick={blocker.reset}>
            Stay
          </Button>
        </Actions>
      }
    >
      What you changed in this {what} is not saved.
    </Dialog>
  );
}
