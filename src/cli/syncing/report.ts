import type { SyncProgress } from '../../assistants/vector-stores/sync.ts';
import type { SyncPlan } from './plan.ts';
import type { LeftOut } from './source.ts';

export type FileEvent = 'added' | 'changed' | 'removed' | 'attributes';

/** What a sync tells those who wait for it. */
export interface SyncReport {
  plan(plan: SyncPlan, leftOut: readonly LeftOut[], place: { readonly store: string; readonly source: string }): void;
  warning(path: string, message: string): void;
  done(what: FileEvent, path: string, bytes?: number): void;
  /** Of the file itself: it is in no format that is read, or broken. */
  unreadable(path: string, message: string): void;
  failed(path: string, message: string): void;
  progress(progress: SyncProgress): void;
  end(summary: SyncSummary): void;
}

export interface SyncSummary {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly attributes: number;
  readonly unchanged: number;
  readonly unreadable: number;
  readonly failed: number;
  readonly bytes: number;
  /** Whether removals were put off because something failed. */
  readonly removals_put_off: number;
}

/** One JSON object a line, for programs. */
export const jsonReport = (): SyncReport => {
  const say = (event: string, facts: object) => console.log(JSON.stringify({ event, ...facts }));
  return {
    plan: (plan, leftOut, { store, source }) => {
      say('plan', { vector_store_id: store, source, ...countsOf(plan), left_out: leftOut.length });
      for (const { path, why, isFault } of leftOut) say('left_out', { path, why, is_fault: isFault });
      for (const { path, isNew } of plan.uploads) say('planned', { action: isNew ? 'add' : 'change', path });
      for (const path of pathsOf(plan.removals)) say('planned', { action: 'remove', path });
      for (const { path } of plan.attributes) say('planned', { action: 'attributes', path });
    },
    warning: (path, message) => say('warning', { path, message }),
    done: (action, path, bytes) => say('file', { action, path, ...(bytes !== undefined && { bytes }) }),
    unreadable: (path, message) => say('unreadable', { path, message }),
    failed: (path, message) => say('failed', { path, message }),
    progress: (progress) => say('progress', progress),
    end: (summary) => say('end', summary),
  };
};

const PARTS = 10;
/** A plan that is only shown is shown whole up to here. */
const MOST_LINES = 1_000;

/** Lines for people: what failed at once, how far it is in tenths, and on a terminal as it goes. */
export const plainReport = ({ isDryRun }: { isDryRun: boolean }): SyncReport => {
  const out = process.stderr;
  let lastPart = 0;
  const line = (text: string) => out.write(`${out.isTTY ? '\r\x1b[K' : ''}${text}\n`);
  return {
    plan: (plan, leftOut, { store, source }) => {
      const { add, change, remove, attributes, under_way, unchanged } = countsOf(plan);
      const more = `${under_way ? `, ${under_way} on their way` : ''}${attributes ? `, ${attributes} with other attributes` : ''}`;
      console.log(
        `${source} → ${store}: ${add} new, ${change} changed, ${remove} gone, ${unchanged} as they are${more}.`,
      );
      if (isDryRun) {
        const lines = [
          ...plan.uploads.map(({ path, isNew, bytes }) => `${isNew ? '+' : '~'} ${path} (${sizeOf(bytes)})`),
          ...plan.attributes.map(({ path }) => `@ ${path}`),
          ...pathsOf(plan.removals).map((path) => `- ${path}`),
        ];
        for (const each of lines.slice(0, MOST_LINES)) console.log(each);
        if (lines.length > MOST_LINES) console.log(`… and ${lines.length - MOST_LINES} more; --json shows all.`);
      }
      const faults = leftOut.filter(({ isFault }) => isFault);
      for (const { path, why } of faults) line(`left out: ${path} ${why}`);
      const others = new Map<string, string[]>();
      for (const { path, why, isFault } of leftOut) if (!isFault) others.set(why, [...(others.get(why) ?? []), path]);
      for (const [why, paths] of others)
        line(
          `left out, because it ${why}: ${paths.slice(0, 5).join(', ')}${paths.length > 5 ? ` and ${paths.length - 5} more` : ''}`,
        );
    },
    warning: (path, message) => line(`warning: ${path}: ${message}`),
    done: () => {},
    unreadable: (path, message) => line(`cannot be read: ${path}: ${message}`),
    failed: (path, message) => line(`failed: ${path}: ${message}`),
    progress: ({ total, done, bytes, failed }) => {
      if (total === 0) return;
      const text = `${done} of ${total} files, ${sizeOf(bytes)} sent${failed ? `, ${failed} failed` : ''}`;
      const part = Math.floor((done / total) * PARTS);
      if (out.isTTY) out.write(`\r\x1b[K${text}${done === total ? '\n' : ''}`);
      else if (part !== lastPart) out.write(`${text}\n`);
      lastPart = part;
    },
    end: (summary) => {
      const { added, changed, removed, attributes, unchanged, unreadable, failed, bytes, removals_put_off } = summary;
      const parts = [`${added} added`, `${changed} changed`, `${removed} removed`, `${unchanged} as they were`];
      if (attributes > 0) parts.push(`${attributes} with other attributes`);
      if (unreadable > 0) parts.push(`${unreadable} that cannot be read`);
      if (failed > 0) parts.push(`${failed} failed`);
      console.log(`${parts.join(', ')}; ${sizeOf(bytes)} sent.`);
      if (removals_put_off > 0)
        console.log(
          `${removals_put_off} files that are gone stay until a sync succeeds: what failed may be one of them under another name.`,
        );
    },
  };
};

const countsOf = ({ uploads, underWay, attributes, removals, unchanged, unreadable }: SyncPlan) => ({
  add: uploads.filter(({ isNew }) => isNew).length,
  change: uploads.filter(({ isNew }) => !isNew).length,
  remove: pathsOf(removals).length,
  attributes: attributes.length,
  under_way: underWay.length,
  unchanged,
  unreadable: unreadable.length,
});

const pathsOf = (removals: SyncPlan['removals']): string[] => [...new Set(removals.map(({ path }) => path))];

function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
