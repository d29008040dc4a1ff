import { useLayoutEffect, useRef, useSyncExternalStore } from 'react';

export interface Shortcut {
  /** As it is pressed: `j`, `/`, `?`, or two after each other: `g l`. */
  readonly keys: string;
  readonly label: string;
}
interface Bound extends Shortcut {
  readonly run: () => void;
}

/** The newest comes first, so that a page can take a key over while it is open. */
let bound: readonly Bound[] = [];
const listeners = new Set<() => void>();
function change(next: readonly Bound[]) {
  bound = next;
  for (const listener of listeners) listener();
}

/** A key that does something while this component is there. */
export function useShortcut(keys: string, label: string, run: () => void) {
  const latest = useRef(run);
  latest.current = run;
  // Before what names the key is seen: what is seen works.
  useLayoutEffect(() => {
    const mine: Bound = { keys, label, run: () => latest.current() };
    change([mine, ...bound]);
    return () => change(bound.filter((each) => each !== mine));
  }, [keys, label]);
}

/** What can be pressed now, each key once. */
export function useShortcuts(): readonly Shortcut[] {
  const all = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => bound,
  );
  return all.filter((each, index) => all.findIndex(({ keys }) => keys === each.keys) === index);
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
  !(target instanceof HTMLInputElement && /^(checkbox|radio|button)$/.test(target.type));

const SECOND_KEY_MS = 1_200;

/** Listens for all of them; once, in the shell. */
export function listenForShortcuts(): () => void {
  let first: { readonly key: string; readonly at: number } | null = null;
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return;
    const before = first && event.timeStamp - first.at < SECOND_KEY_MS ? `${first.key} ` : '';
    const found = bound.find(({ keys }) => keys === before + event.key) ?? bound.find(({ keys }) => keys === event.key);
    first = found ? null : { key: event.key, at: event.timeStamp };
    if (!found) return;
    event.preventDefault();
    found.run();
  };
  document.addEventListener('keydown', onKey);
  return () => document.removeEventListener('keydown', onKey);
}
