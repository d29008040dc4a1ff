import { reachesOrganisation } from '../core/principal.ts';
import type { Scope } from '../core/scopes.ts';
import { sha256 } from '../crypto/seal.ts';
import { visibleWorkspaces } from '../storage/workspace-lookup.ts';
import { canonical, type Desired, type Kind, type Shape, type Stored } from './desired.ts';
import type { Context, KindOf } from './kind.ts';
import { kinds } from './kinds.ts';
import { digestOf, type Mark, readMarks } from './marks.ts';
import type { Findings, Place } from './reading/findings.ts';

/** One field that will be another. Values of secrets are left out. */
export interface Difference {
  readonly field: string;
  readonly from?: unknown;
  readonly to?: unknown;
}

/** One step from what is to what the file wants. */
export interface Step {
  readonly action: 'create' | 'change' | 'delete';
  readonly kind: Kind;
  readonly title: string;
  /** The slug of its workspace; null where it is in none, and for the deletion of what the file names no more. */
  readonly workspace: string | null;
  /** What is made of it that may be shown. */
  readonly fields: Shape['facts'];
  readonly differences: readonly Difference[];
  /** What a caller needs who wants it done. */
  readonly needs: readonly Scope[];
  run(context: Context): Promise<Mark | null>;
  /** The mark that goes with the object. */
  readonly drops: Mark | null;
}

export interface Plan {
  readonly steps: readonly Step[];
  readonly unchanged: number;
  /** Made by this file once, no longer in it, and kept. */
  readonly kept: readonly string[];
  /** Deleted here since they were imported, and left so. */
  readonly leftDeleted: readonly string[];
  /** What people agree to who were shown the steps: another one for other steps. */
  readonly agreement: string;
}

export interface PlanOptions {
  /** Whose marks count: `apply/<name>` or `import/<from>`. */
  readonly manager: string;
  /**
   * `state`: the database is to be as the file says, even if a person has changed it since. `once`: what was taken over
   * belongs to the database from then on; only what the file says anew is taken over again, and what was deleted stays
   * deleted.
   */
  readonly mode: 'state' | 'once';
  readonly prune: boolean;
  /** The file itself, for faults that have no line. */
  readonly place: Place;
}

/** What has to be done. Faults that only the database knows of are found here. */
export async function planChanges(
  context: Context,
  desired: Desired,
  findings: Findings,
  options: PlanOptions,
): Promise<Plan> {
  const marks = await readMarks(context.db, context.sealer, options.manager);
  const known: Known = {
    byName: new Map(marks.map((mark) => [`${mark.kind}/${mark.ref}`, mark])),
    byId: new Map(marks.map((mark) => [`${mark.kind}/${mark.id}`, mark])),
  };
  const namedIds = new Set<string>();
  const namedRefs = new Set<string>();
  const steps: Step[] = [];
  const leftDeleted: string[] = [];
  let unchanged = 0;
  await checkWorkspaces(context, desired, findings, options.mode);
  for (const kind of kinds) {
    for (const wish of kind.wishes(desired)) {
      const outcome = await compare(context, kind, wish, { known, findings, mode: options.mode });
      namedRefs.add(`${kind.kind}/${wish.ref}`);
      if (outcome.id) namedIds.add(`${kind.kind}/${outcome.id}`);
      if (outcome.step) steps.push(outcome.step);
      else if (outcome.isLeftDeleted) leftDeleted.push(kind.title(wish));
      else unchanged++;
    }
  }
  const orphans = marks.filter(
    ({ kind, id, ref }) => !namedIds.has(`${kind}/${id}`) && !namedRefs.has(`${kind}/${ref}`),
  );
  const { deletions, kept } = await planDeletions(context, orphans, findings, options);
  const all = [...deletions, ...steps];
  return { steps: all, unchanged, kept, leftDeleted, agreement: agreementOf(all) };
}

const agreementOf = (steps: readonly Step[]): string =>
  sha256(JSON.stringify(steps.map(({ action, title, differences }) => [action, title, differences])));

/** The marks of this file, by what it calls an object and by the object. */
interface Known {
  readonly byName: ReadonlyMap<string, Mark>;
  readonly byId: ReadonlyMap<string, Mark>;
}

interface Outcome {
  readonly id?: string;
  readonly step?: Step;
  readonly isLeftDeleted?: boolean;
}

// biome-ignore lint/suspicious/noExplicitAny: one kind of several, with the wish that belongs to it
type Any = any;

async function compare(
  context: Context,
  kind: KindOf<Any>,
  wish: Any,
  { known, findings, mode }: { known: Known; findings: Findings; mode: PlanOptions['mode'] },
): Promise<Outcome> {
  const title = kind.title(wish);
  const shape = kind.shape(wish);
  const digest = digestOf(shape);
  const workspace: string | null = kind.kind === 'workspace' ? wish.slug : wish.workspace;
  const about = { kind: kind.kind, title, workspace, fields: shape.facts };
  // What holds in every workspace.
  const above: readonly Scope[] = workspace === null ? ['organisation.manage'] : [];
  const byName = known.byName.get(`${kind.kind}/${wish.ref}`) ?? null;
  const stored = await kind.find(context, wish, byName?.id ?? null);
  const fault = (says: string): Outcome => {
    findings.fault(wish.place, `${title}: ${says}`);
    return {};
  };
  if (typeof stored === 'string') return fault(stored);
  const markOf = (id: string): Mark => ({ kind: kind.kind, id, ref: wish.ref, digest });
  if (stored === null) {
    if (mode === 'once' && byName) return { isLeftDeleted: true };
    const run = async (inside: Context) => markOf(await kind.create(inside, wish));
    const needs = [...kind.scopes.create, ...above];
    return { step: { ...about, action: 'create', differences: [], needs, run, drops: null } };
  }
  const own = known.byId.get(`${kind.kind}/${stored.id}`) ?? null;
  if (mode === 'once') {
    if (!own) return fault('exists already and was not made by this import; rename or delete it first');
    if (own.digest === digest) return { id: stored.id };
  }
  const differences = differencesOf(stored, shape);
  if (differences.length === 0 && (!own || own.ref === wish.ref) && mode === 'state') return { id: stored.id };
  const run = async (inside: Context) => {
    await kind.change(inside, wish, stored);
    return own ? markOf(stored.id) : null;
  };
  const isRotated = kind.kind === 'api-key' && differences.some(({ field }) => field === 'key');
  const needs = [...kind.scopes.change, ...above, ...(isRotated ? (['api_keys.rotate'] as const) : [])];
  return { id: stored.id, step: { ...about, action: 'change', differences, needs, run, drops: null } };
}

function differencesOf(stored: Stored, wanted: Shape): Difference[] {
  const differences: Difference[] = [];
  const names = (a: object, b: object) => [...new Set([...Object.keys(a), ...Object.keys(b)])];
  for (const field of names(stored.facts, wanted.facts)) {
    const [from, to] = [stored.facts[field] ?? null, wanted.facts[field] ?? null];
    if (canonical(from) !== canonical(to)) differences.push({ field, from, to });
  }
  for (const field of names(stored.secrets, wanted.secrets)) {
    if (canonical(stored.secrets[field] ?? null) !== canonical(wanted.secrets[field] ?? null))
      differences.push({ field });
  }
  return differences;
}

async function checkWorkspaces({ db, who }: Context, desired: Desired, findings: Findings, mode: PlanOptions['mode']) {
  const own = visibleWorkspaces(db, who).select('slug');
  const known = new Set([...(await own.execute()), ...desired.workspaces].map(({ slug }) => slug));
  const { virtualKeys, configs, apiKeys, policies } = desired;
  for (const { workspace, place } of [...virtualKeys, ...configs, ...apiKeys, ...policies]) {
    if (workspace === null || known.has(workspace)) continue;
    const where = reachesOrganisation(who) ? '' : ` that this key reaches; its own is "${who.workspaceSlug}"`;
    findings.fault(place, `workspace: there is no workspace "${workspace}"${where}`);
    // An import names one workspace for all.
    if (mode === 'once') return;
  }
}

async function planDeletions(
  context: Context,
  orphans: readonly Mark[],
  findings: Findings,
  { prune, place }: PlanOptions,
): Promise<{ deletions: Step[]; kept: string[] }> {
  const deletions: Step[] = [];
  const kept: string[] = [];
  const going = new Set(orphans.map(({ id }) => id));
  for (const kind of [...kinds].reverse()) {
    for (const mark of orphans.filter((each) => each.kind === kind.kind)) {
      const title = await kind.titleOf(context, mark.id);
      if (title === null) continue;
      if (!prune) {
        if (context.who.scopes.has(kind.scopes.read)) kept.push(title);
        continue;
      }
      const why = await kind.blocker(context, mark.id, going);
      if (why !== null) findings.fault(place, `${title} cannot be deleted: ${why}`);
      const run = async (inside: Context) => {
        await kind.delete(inside, mark.id);
        return null;
      };
      const about = { kind: kind.kind, title, workspace: null, fields: {} };
      deletions.push({ ...about, action: 'delete', differences: [], needs: kind.scopes.delete, run, drops: mark });
    }
  }
  return { deletions, kept };
}
