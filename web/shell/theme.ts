import { useSyncExternalStore } from 'react';

export type Theme = 'light' | 'dark' | 'system';
const STORED = 'gateway.theme';
const prefersDark = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

export const themeChoice = (): Theme => {
  const stored = localStorage.getItem(STORED);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
};

function apply() {
  const choice = themeChoice();
  const isDark = choice === 'dark' || (choice === 'system' && prefersDark.matches);
  document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
  for (const listener of listeners) listener();
}

export function setTheme(theme: Theme) {
  if (theme === 'system') localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, theme);
  apply();
}

prefersDark.addEventListener('change', apply);

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const useThemeChoice = (): Theme => useSyncExternalStore(subscribe, themeChoice);
/** What is on screen now; charts are drawn anew when it changes. */
export const useTheme = (): 'light' | 'dark' =>
  useSyncExternalStore(subscribe, () => (document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light'));
