import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { useApi } from '../api/hooks.ts';
import { IconButton } from '../design/button.tsx';
import { Icon } from '../design/icon.tsx';
import { faultPosition, type Suggestion, suggestionsAt } from './filter-text.ts';
import { useMay, useWorkspace } from './session.tsx';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** Values that calls of the last week had; asked for when the bar is first used. */
function useFacets(isWanted: boolean) {
  const { slug } = useWorkspace();
  const may = useMay();
  const [now] = useState(() => Math.ceil(Date.now() / HOUR_MS) * HOUR_MS);
  const times = {
    time_of_generation_min: new Date(now - 7 * DAY_MS).toISOString(),
    time_of_generation_max: new Date(now).toISOString(),
  };
  return useApi(
    '/v1/analytics/facets',
    { query: { ...times, workspace_slug: slug, limit: 50 } },
    { enabled: isWanted && may('analytics.view') },
  ).data?.facets;
}

/** A filter of the log as text: completed as it is written, taken by Enter. `error` is what the server said of it. */
export function FilterBar({
  value,
  onChange,
  error,
  label = 'Filter of the log',
  placeholder = 'status:>=400 model:gpt* duration:>2s',
}: {
  readonly value: string;
  readonly onChange: (filter: string) => void;
  readonly error?: unknown;
  readonly label?: string;
  readonly placeholder?: string;
}) {
  const [draft, setDraft] = useState(value);
  const [cursor, setCursor] = useState(0);
  const [isOpen, setOpen] = useState(false);
  const [isUsed, setUsed] = useState(false);
  const [wanted, setWanted] = useState<string | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  const applied = useRef(value);
  useEffect(() => {
    // What this bar has applied comes back when the page is drawn again; by then the user may have typed on.
    if (value !== applied.current) setDraft(value);
    applied.current = value;
  }, [value]);
  const facets = useFacets(isUsed);
  const suggestions = useMemo(
    () => (isOpen ? suggestionsAt(draft, cursor, facets) : []),
    [isOpen, draft, cursor, facets],
  );
  // By its text: values of the log come late, and would put another one in its place.
  const place = suggestions.findIndex(({ text }) => text === wanted);
  const chosen = place < 0 ? null : place;
  const message = error instanceof Error ? error.message : null;
  const fault = message === null ? null : faultPosition(message);
  const isShown = suggestions.length > 0;

  const apply = (text: string) => {
    setOpen(false);
    setWanted(null);
    applied.current = text.trim();
    onChange(applied.current);
  };
  const take = ({ text, from, to, isWhole }: Suggestion) => {
    const end = isWhole && to === draft.length ? ' ' : '';
    const next = `${draft.slice(0, from)}${text}${end}${draft.slice(to)}`;
    const after = from + text.length + end.length;
    // At once: a moment later, the cursor would be taken away from what is typed by then.
    flushSync(() => {
      setDraft(next);
      setWanted(null);
      setCursor(after);
    });
    input.current?.setSelectionRange(after, after);
  };
  const onKey = (event: KeyboardEvent<HTMLInputElement>) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0 && isShown) {
      event.preventDefault();
      const next = ((chosen ?? (step > 0 ? -1 : 0)) + step + suggestions.length) % suggestions.length;
      setWanted(suggestions[next]!.text);
    } else if (event.key === 'Tab' && isShown && !event.shiftKey && draft !== '') {
      event.preventDefault();
      take(suggestions[chosen ?? 0]!);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      if (isShown && chosen !== null) take(suggestions[chosen]!);
      else apply(draft);
    } else if (event.key === 'Escape') {
      if (isShown) setOpen(false);
      else {
        setDraft(value);
        event.currentTarget.blur();
      }
    }
  };
  return (
    <div className="filter-bar">
      <div className={`filter-bar-field ${fault ? 'filter-bar-wrong' : ''}`}>
        <Icon name="filter" />
        <input
          ref={input}
          type="text"
          role="combobox"
          data-filter=""
          aria-label={label}
          aria-expanded={isShown}
          aria-controls={`${id}-list`}
          aria-activedescendant={isShown && chosen !== null ? `${id}-${chosen}` : undefined}
          aria-invalid={message ? true : undefined}
          aria-describedby={message ? `${id}-fault` : undefined}
          autoComplete="off"
          spellCheck={false}
          placeholder={placeholder}
          value={draft}
          onChange={(event) => {
            setDraft(event.target.value);
            setCursor(event.target.selectionStart ?? event.target.value.length);
            setOpen(true);
            setWanted(null);
          }}
          onSelect={(event) => setCursor(event.currentTarget.selectionStart ?? 0)}
          onFocus={() => {
            setUsed(true);
            setOpen(true);
          }}
          onBlur={() => setOpen(false)}
          onKeyDown={onKey}
        />
        {draft !== value && <span className="filter-bar-hint soft small">Enter to filter</span>}
        {draft ? (
          <IconButton
            size="small"
            icon="close"
            label="Empty the filter"
            onClick={() => {
              setDraft('');
              apply('');
            }}
          />
        ) : (
          <kbd>/</kbd>
        )}
      </div>
      <div
        className="filter-bar-list"
        role="listbox"
        id={`${id}-list`}
        aria-label="What could stand here"
        hidden={!isShown}
      >
        {suggestions.map((each, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above takes the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field, which names the active one
          <div
            key={each.text}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === chosen}
            className="filter-bar-option"
            // Keeps the focus in the field.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => take(each)}
          >
            <code>{each.text}</code>
            <span className="soft small">{each.about}</span>
          </div>
        ))}
      </div>
      {message && (
        <div className="filter-bar-fault" role="alert" id={`${id}-fault`}>
          {fault && (
            <code className="filter-bar-place">
              {value.slice(0, fault.at)}
              <mark>{/^\S+/.exec(value.slice(fault.at))?.[0] ?? ' '}</mark>
              {value.slice(fault.at).replace(/^\S+/, '')}
            </code>
          )}
          <span>{fault ? fault.says.replace(/; there are .*/s, '.') : message}</span>
        </div>
      )}
    </div>
  );
}
