import { useEffect, useState } from 'react';
import { Button, IconButton } from '../design/button.tsx';
import { Field, Input } from '../design/field.tsx';
import { Icon } from '../design/icon.tsx';
import { Popover } from '../design/menu.tsx';
import { renew, useReach } from './range.ts';
import { PRESETS, type Span } from './spans.ts';

/** What the browser's field for a time takes: local time, to the minute. */
const localOf = (at: number): string => {
  const offset = new Date(at).getTimezoneOffset() * 60_000;
  return new Date(at - offset).toISOString().slice(0, 16);
};

const RENEWED_EVERY_MS = 60_000;

/** Which time is looked at: a preset that ends now, or one that begins and ends somewhere. Arrows go back and forth. */
export function RangePicker() {
  const { reach, span, label, setRange, setSpan } = useReach();
  const [isOpen, setOpen] = useState(false);
  const length = span.until - span.from;
  const isLive = reach.range !== '';
  useEffect(() => {
    if (!isLive) return;
    const timer = setInterval(() => document.visibilityState === 'visible' && renew(), RENEWED_EVERY_MS);
    return () => clearInterval(timer);
  }, [isLive]);
  const moved = (by: number): Span => ({ from: span.from + by * length, until: span.until + by * length });
  return (
    <div className="range">
      <IconButton icon="left" label="The time before" onClick={() => setSpan(moved(-1))} />
      <Popover
        label="Time"
        isOpen={isOpen}
        onOpenChange={setOpen}
        trigger={
          <button type="button" className="button button-plain button-medium range-now">
            <Icon name="clock" />
            <span className="truncate">{label}</span>
            <Icon name="down" size={12} />
          </button>
        }
      >
        <div className="range-panel">
          <ul className="range-presets">
            {PRESETS.map((preset) => (
              <li key={preset.value}>
                <button
                  type="button"
                  className="range-preset"
                  aria-pressed={preset.value === reach.range}
                  onClick={() => {
                    setRange(preset.value);
                    setOpen(false);
                  }}
                >
                  {preset.label}
                </button>
              </li>
            ))}
          </ul>
          <Custom
            span={span}
            onChoose={(chosen) => {
              setSpan(chosen);
              setOpen(false);
            }}
          />
        </div>
      </Popover>
      <IconButton
        icon="right"
        label="The time after"
        disabled={isLive || span.until >= Date.now()}
        onClick={() => setSpan(moved(1))}
      />
      <IconButton icon="refresh" label="Look again" onClick={renew} disabled={!isLive} />
    </div>
  );
}

function Custom({ span, onChoose }: { readonly span: Span; readonly onChoose: (span: Span) => void }) {
  const [from, setFrom] = useState(localOf(span.from));
  const [until, setUntil] = useState(localOf(span.until));
  const chosen = { from: new Date(from).getTime(), until: new Date(until).getTime() };
  const days = (chosen.until - chosen.from) / 86_400_000;
  const fault = !(days > 0) ? 'It ends before it begins.' : days > 400 ? 'At most 400 days.' : null;
  return (
    <form
      className="range-custom"
      onSubmit={(event) => {
        event.preventDefault();
        if (!fault) onChoose(chosen);
      }}
    >
      <Field label="From">
        {(control) => (
          <Input {...control} type="datetime-local" value={from} onChange={(event) => setFrom(event.target.value)} />
        )}
      </Field>
      <Field label="Until" error={fault}>
        {(control) => (
          <Input {...control} type="datetime-local" value={until} onChange={(event) => setUntil(event.target.value)} />
        )}
      </Field>
      <Button type="submit" look="primary" size="small" disabled={fault !== null}>
        Look at this time
      </Button>
    </form>
  );
}
