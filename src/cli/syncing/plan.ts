import type { StoreFile } from '../../assistants/vector-stores/file.ts';
import { type AttributeRules, type Attributes, attributesOf } from './attributes.ts';
import { mayHaveFrontMatter } from './front-matter.ts';
import type { Listing, SourceFile } from './source.ts';

/** A file that cannot be read as it is: it failed when it was brought, and would again. */
export interface Unreadable {
  readonly path: string;
  readonly message: string;
}

export interface SyncPlan {
  /** New ones, and those that are another than in the store. */
  readonly uploads: readonly (SourceFile & { readonly isNew: boolean })[];
  /** On their way already: of a sync that was killed, most likely. */
  readonly underWay: readonly { readonly path: string; readonly fileId: string }[];
  readonly attributes: readonly { readonly path: string; readonly fileId: string; readonly attributes: Attributes }[];
  /** Files in the store that the source no longer has, or of older versions. */
  readonly removals: readonly { readonly path: string; readonly fileId: string }[];
  readonly unreadable: readonly Unreadable[];
  readonly unchanged: number;
  /** How many paths of the source the store has. */
  readonly known: number;
  readonly warnings: readonly { readonly path: string; readonly message: string }[];
}

export interface PlanOptions {
  readonly rules: AttributeRules;
  /** Whether what could not be read is brought again, unchanged as it is. */
  readonly retry: boolean;
}

/** What makes the store equal to its source. */
export function planOf(listing: Listing, inStore: readonly StoreFile[], { rules, retry }: PlanOptions): SyncPlan {
  const known = new Map<string, StoreFile[]>();
  for (const file of inStore)
    if (file.origin?.source === rules.source)
      known.set(file.origin.path, [...(known.get(file.origin.path) ?? []), file]);
  const present = new Set(listing.files.map(({ path }) => path));
  for (const { path, isFault } of listing.leftOut) if (isFault) present.add(path);

  const uploads: SyncPlan['uploads'][number][] = [];
  const underWay: SyncPlan['underWay'][number][] = [];
  const changed: SyncPlan['attributes'][number][] = [];
  const removals: SyncPlan['removals'][number][] = [];
  const unreadable: Unreadable[] = [];
  const warnings: SyncPlan['warnings'][number][] = [];
  let unchanged = 0;
  for (const file of listing.files) {
    const { path, digest, head } = file;
    const entries = known.get(path) ?? [];
    const same = entries.filter(({ origin }) => origin?.digest === digest);
    const found = same.find(({ status }) => status === 'completed');
    const coming = same.find(({ status }) => status === 'in_progress');
    const failed = same.find(({ status, last_error }) => status === 'failed' && last_error?.code !== 'server_error');
    const wanted = attributesOf(path, head, rules);
    const isWhole = head !== null || !rules.frontMatter || !mayHaveFrontMatter(path);
    const adjust = (entry: StoreFile) => {
      if (!differ(entry.attributes, wanted.attributes, isWhole)) return;
      // It has to be read for that; the gateway sees that it has the bytes already.
      if (!isWhole) uploads.push({ ...file, isNew: false });
      else changed.push({ path, fileId: entry.id, attributes: wanted.attributes });
    };
    if (head) for (const message of wanted.warnings) warnings.push({ path, message });
    if (found) {
      unchanged++;
      adjust(found);
      for (const entry of entries) if (entry !== found) removals.push({ path, fileId: entry.id });
    } else if (coming) {
      underWay.push({ path, fileId: coming.id });
      adjust(coming);
    } else if (failed && !retry) unreadable.push({ path, message: failed.last_error!.message });
    else uploads.push({ ...file, isNew: entries.length === 0 });
  }
  for (const [path, entries] of known)
    if (!present.has(path)) for (const { id } of entries) removals.push({ path, fileId: id });
  return { uploads, underWay, attributes: changed, removals, unreadable, unchanged, known: known.size, warnings };
}

/** Of a file that was not read, what its front matter says is not known: the store may have more than the rest. */
function differ(has: Attributes, wanted: Attributes, isWhole: boolean): boolean {
  if (Object.entries(wanted).some(([key, value]) => has[key] !== value)) return true;
  return isWhole && Object.keys(has).length !== Object.keys(wanted).length;
}
