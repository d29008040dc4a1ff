import { Dialog } from '../design/dialog.tsx';
import { useShortcuts } from './shortcuts.tsx';

/** What can be pressed here and now. */
export function ShortcutHelp({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const shortcuts = useShortcuts();
  return (
    <Dialog title="Keyboard" isOpen={isOpen} onClose={onClose}>
      <dl className="shortcut-list">
        {[{ keys: '⌘ K', label: 'Find a page or an action (Ctrl K)' }, ...shortcuts].map(({ keys, label }) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
