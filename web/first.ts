import { askWho, hasToken } from './api/who.ts';

/** Runs before everything else: a dark page must not flash white, and every page waits for who is signed in. */
const stored = localStorage.getItem('gateway.theme');
const isDark = stored === 'dark' || (stored !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
if (!hasToken()) askWho();
