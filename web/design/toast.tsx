import { Toast } from '@base-ui/react/toast';
import { Icon } from './icon.tsx';

const manager = Toast.createToastManager();

export type ToastTone = 'good' | 'bad' | 'plain';

/** A short message in the corner, gone after a while. What went wrong stays longer. */
export function toast({ title, about, tone = 'plain' }: { title: string; about?: string; tone?: ToastTone }) {
  manager.add({ title, description: about, type: tone, timeout: tone === 'bad' ? 9_000 : 4_000 });
}

function Toasts() {
  const { toasts } = Toast.useToastManager();
  return toasts.map((each) => (
    <Toast.Root key={each.id} toast={each} className={`toast toast-${each.type ?? 'plain'}`}>
      <Icon name={each.type === 'bad' ? 'warn' : each.type === 'good' ? 'check' : 'info'} />
      <Toast.Content className="toast-content">
        <Toast.Title className="toast-title" />
        <Toast.Description className="soft" />
      </Toast.Content>
      <Toast.Close className="button button-quiet button-icon button-small" aria-label="Close">
        <Icon name="close" />
      </Toast.Close>
    </Toast.Root>
  ));
}

/** Where toasts appear; once, in the shell. */
export const ToastPlace = () => (
  <Toast.Provider toastManager={manager} limit={3}>
    <Toast.Portal>
      <Toast.Viewport className="toasts">
        <Toasts />
      </Toast.Viewport>
    </Toast.Portal>
  </Toast.Provider>
);
