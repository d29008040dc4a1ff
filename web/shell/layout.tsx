import { Dialog } from '@base-ui/react/dialog';
import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { useLayoutEffect, useState } from 'react';
import { IconButton } from '../design/button.tsx';
import { Icon, Logo } from '../design/icon.tsx';
import { AccountMenu, WorkspaceMenu } from './header-menus.tsx';
import { useNavigation } from './navigation.ts';
import { Palette } from './palette.tsx';
import { ShortcutHelp } from './shortcut-help.tsx';
import { listenForShortcuts, useShortcut } from './shortcuts.tsx';

function Nav({ onGo }: { readonly onGo?: () => void }) {
  const groups = useNavigation();
  return (
    <nav className="nav" aria-label="Pages">
      {groups.map(({ group, pages }) => (
        <div key={group} className="nav-group">
          {group !== 'Start' && <h2>{group}</h2>}
          <ul>
            {pages.map((page) => (
              <li key={page.path}>
                <Link
                  to={page.path}
                  className="nav-link"
                  activeProps={{ className: 'nav-link nav-active' }}
                  activeOptions={{ exact: page.path === '/', includeSearch: false }}
                  onClick={onGo}
                >
                  <Icon name={page.icon} />
                  <span>{page.title}</span>
                </Link>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

/** Keys that lead to pages: `g`, then the page's letter. */
function GoKeys() {
  const pages = useNavigation().flatMap((group) => group.pages);
  return pages.map((page) => (page.letter ? <GoKey key={page.path} {...page} letter={page.letter} /> : null));
}

function GoKey({ letter, title, path }: { readonly letter: string; readonly title: string; readonly path: string }) {
  const navigate = useNavigate();
  useShortcut(`g ${letter}`, `Go to ${title}`, () => void navigate({ to: path }));
  return null;
}

/** Around every page: menu, header, palette, keys. */
export function Shell() {
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const isLoading = useRouterState({ select: ({ status }) => status === 'pending' });
  useLayoutEffect(listenForShortcuts, []);
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      setPaletteOpen((isOpen) => !isOpen);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  useShortcut('?', 'Show the keys', () => setHelpOpen(true));
  useShortcut('/', 'To the filter', () => document.querySelector<HTMLElement>('[data-filter]')?.focus());
  return (
    <div className="shell">
      <a className="skip" href="#page">
        Skip to the page
      </a>
      <aside className="side">
        <Link to="/" className="brand">
          <Logo size={22} />
          Gateway
        </Link>
        <Nav />
      </aside>
      <header className="bar">
        <span className="bar-menu">
          <IconButton icon="menu" label="Menu" onClick={() => setMenuOpen(true)} />
        </span>
        <WorkspaceMenu />
        <span className="bar-space" />
        <button type="button" className="bar-search" onClick={() => setPaletteOpen(true)}>
          <Icon name="search" />
          <span>Search or jump to…</span>
          <kbd>⌘K</kbd>
        </button>
        <AccountMenu onHelp={() => setHelpOpen(true)} />
      </header>
      {isLoading && <div className="loading-line" role="status" aria-label="Loading" />}
      <main className="page" id="page" tabIndex={-1}>
        <Outlet />
      </main>
      <Dialog.Root open={isMenuOpen} onOpenChange={setMenuOpen}>
        <Dialog.Portal>
          <Dialog.Backdrop className="veil" />
          <Dialog.Popup className="drawer">
            <Dialog.Title className="brand">
              <Logo size={22} />
              Gateway
            </Dialog.Title>
            <Nav onGo={() => setMenuOpen(false)} />
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
      <Palette isOpen={isPaletteOpen} onClose={() => setPaletteOpen(false)} />
      <ShortcutHelp isOpen={isHelpOpen} onClose={() => setHelpOpen(false)} />
      <GoKeys />
    </div>
  );
}
