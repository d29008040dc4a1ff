import { Dialog } from '@base-ui/react/dialog';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useId, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { Icon, type IconName } from '../design/icon.tsx';
import { signOut } from './header-menus.tsx';
import { useNavigation } from './navigation.ts';
import { setTheme } from './theme.ts';

/** Something that the palette can do. */
export interface Command {
  readonly label: string;
  readonly icon: IconName;
  /** Other words by which it is found. */
  readonly words?: string;
  readonly keys?: string;
  readonly run: () => void;
}

let ofPages: readonly Command[] = [];
const listeners = new Set<() => void>();
function change(next: readonly Command[]) {
  ofPages = next;
  for (const listener of listeners) listener();
}

/** What a page adds to the palette while it is open. Give a list that stays the same between renderings. */
export function useCommands(commands: readonly Command[]) {
  useLayoutEffect(() => {
    change([...commands, ...ofPages]);
    return () => change(ofPages.filter((each) => !commands.includes(each)));
  }, [commands]);
}

const OWN: readonly Command[] = [
  { label: 'Light theme', icon: 'sun', run: () => setTheme('light') },
  { label: 'Dark theme', icon: 'moon', run: () => setTheme('dark') },
  { label: 'Theme of the system', icon: 'screen', run: () => setTheme('system') },
  {
    label: 'API reference',
    icon: 'book',
    words: 'docs openapi',
    run: () => window.open('/docs', '_blank', 'noopener'),
  },
  { label: 'Sign out', icon: 'out', words: 'log out leave', run: () => void signOut() },
];

/** All letters of the wish, in their order. Earlier and closer together is better; null: not this one. */
function fit(wish: string, text: string): number | null {
  let at = -1;
  let score = 0;
  for (const letter of wish) {
    const next = text.indexOf(letter, at + 1);
    if (next < 0) return null;
    score += next - at - 1;
    at = next;
  }
  return score;
}

export function Palette({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  return (
    <Dialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="veil" />
        <Dialog.Popup className="palette">
          <Dialog.Title className="hidden-visually">Commands</Dialog.Title>
          <Commands onClose={onClose} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Commands({ onClose }: { readonly onClose: () => void }) {
  const [wish, setWish] = useState('');
  const [chosen, setChosen] = useState<string | null>(null);
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const groups = useNavigation();
  const navigate = useNavigate();
  const own = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => ofPages,
  );
  const all = useMemo(
    (): readonly Command[] => [
      ...own,
      ...groups.flatMap(({ group, pages }) =>
        pages.map((page) => ({
          label: page.title,
          icon: page.icon,
          words: group,
          keys: page.letter && `g ${page.letter}`,
          run: () => void navigate({ to: page.path }),
        })),
      ),
      ...OWN,
    ],
    [own, groups, navigate],
  );
  const found = useMemo(() => {
    const plain = wish.trim().toLowerCase();
    if (!plain) return all;
    return all
      .map((command) => ({ command, score: fit(plain, `${command.label} ${command.words ?? ''}`.toLowerCase()) }))
      .filter((each): each is { command: Command; score: number } => each.score !== null)
      .toSorted((one, other) => one.score - other.score)
      .map(({ command }) => command);
  }, [all, wish]);
  // By its name: commands of the page may come late, and would put another one in its place.
  const at = Math.max(
    0,
    found.findIndex(({ label }) => label === chosen),
  );
  const run = (command: Command | undefined) => {
    if (!command) return;
    onClose();
    command.run();
  };
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (event.key === 'Enter') {
      event.preventDefault();
      run(found[at]);
    } else if (step !== 0 && found.length > 0) {
      event.preventDefault();
      const next = (at + step + found.length) % found.length;
      setChosen(found[next]!.label);
      list.current?.children[next]?.scrollIntoView({ block: 'nearest' });
    }
  };
  return (
    <>
      <div className="palette-wish">
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          aria-label="Find a page or an action"
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={found.length > 0 ? `${id}-${at}` : undefined}
          placeholder="Find a page or an action"
          value={wish}
          onChange={(event) => {
            setWish(event.target.value);
            setChosen(null);
          }}
          onKeyDown={onKey}
        />
        <kbd>esc</kbd>
      </div>
      <div className="palette-list" role="listbox" aria-label="Commands" id={`${id}-list`} ref={list}>
        {found.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above takes the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field, which names the active one
          <div
            key={command.label}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === at}
            className="palette-item"
            onMouseMove={() => setChosen(command.label)}
            onClick={() => run(command)}
          >
            <Icon name={command.icon} />
            <span>{command.label}</span>
            {command.keys && (
              <span className="palette-keys">
                {command.keys.split(' ').map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </span>
            )}
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="palette-none soft">Nothing is called that.</p>}
    </>
  );
}
