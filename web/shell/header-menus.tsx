import { useNavigate } from '@tanstack/react-router';
import { api } from '../api/client.ts';
import { useApi } from '../api/hooks.ts';
import { forgetWorkspace } from '../api/who.ts';
import { Icon } from '../design/icon.tsx';
import { Menu, type MenuItem } from '../design/menu.tsx';
import { PAGES } from '../pages.ts';
import { goToWorkspace, nameOf, useMay, useSession } from './session.tsx';
import { setTheme, type Theme, useThemeChoice } from './theme.ts';

/** Most people have a few workspaces; those with more find them by address. */
const MOST = 100;

export function WorkspaceMenu() {
  const { workspace } = useSession();
  const may = useMay();
  const list = useApi(
    '/v1/admin/workspaces',
    { query: { page_size: MOST } },
    { enabled: may('workspaces.list'), isLater: true },
  );
  const all = list.data?.data ?? [];
  const name = all.find(({ id }) => id === workspace.id)?.name ?? workspace.slug;
  const items: MenuItem[] = all.map((each) => ({
    label: each.name,
    isChosen: each.id === workspace.id,
    onSelect: () => goToWorkspace(each.slug),
  }));
  const face = (
    <>
      <span className="workspace-mark" aria-hidden="true">
        {name.slice(0, 1).toUpperCase()}
      </span>
      <span className="truncate">{name}</span>
    </>
  );
  if (items.length < 2) return <span className="workspace-name">{face}</span>;
  return (
    <Menu
      label="Workspaces"
      items={items}
      trigger={
        <button type="button" className="button button-quiet workspace-name">
          <span className="hidden-visually">Workspace </span>
          {face}
          <span className="hidden-visually">, switch</span>
          <Icon name="down" size={13} />
        </button>
      }
    />
  );
}

const THEMES: readonly { theme: Theme; label: string; icon: 'sun' | 'moon' | 'screen' }[] = [
  { theme: 'light', label: 'Light', icon: 'sun' },
  { theme: 'dark', label: 'Dark', icon: 'moon' },
  { theme: 'system', label: 'As the system', icon: 'screen' },
];

export async function signOut() {
  await api.delete('/v1/sessions/current');
  forgetWorkspace();
  location.assign('/console');
}

export function AccountMenu({ onHelp }: { readonly onHelp: () => void }) {
  const { user } = useSession();
  const chosen = useThemeChoice();
  const navigate = useNavigate();
  const name = nameOf(user);
  const account = PAGES.find(({ path }) => path === '/account');
  return (
    <Menu
      label="Account"
      trigger={
        <button type="button" className="avatar" aria-label={`Account of ${name}`}>
          {name.slice(0, 1).toUpperCase()}
        </button>
      }
      items={[
        ...(account
          ? [{ label: name, icon: 'user' as const, onSelect: () => void navigate({ to: account.path }) }, null]
          : []),
        ...THEMES.map(({ theme, label, icon }) => ({
          label,
          icon,
          isChosen: theme === chosen,
          onSelect: () => setTheme(theme),
        })),
        null,
        { label: 'Keyboard', icon: 'info', onSelect: onHelp },
        { label: 'API reference', icon: 'book', onSelect: () => window.open('/docs', '_blank', 'noopener') },
        { label: 'Sign out', icon: 'out', onSelect: () => void signOut() },
      ]}
    />
  );
}
