import { auditedCaller, loggedCaller } from '../audit/audited.ts';
import type { CheckVirtualKey } from '../auth/virtual-keys.ts';
import { fail } from '../core/errors.ts';
import type { MachineIdentities } from '../core/machine-identity.ts';
import type { Principal } from '../core/principal.ts';
import type { Scope } from '../core/scopes.ts';
import type { SecretSource } from '../core/secret-reference.ts';
import type { Sealer } from '../crypto/seal.ts';
import type { EndingsOf } from '../endings/endings.ts';
import type { Changes } from '../storage/changes.ts';
import type { Store } from '../storage/store.ts';
import { type ApplyFile, readApplyFile } from './applying/file.ts';
import { carryOut, look, missingScopes } from './carry-out.ts';
import type { Author } from './change-records.ts';
import { checkWishes } from './check.ts';
import type { Ground } from './ground.ts';
import { kinds } from './kinds.ts';
import type { Difference, Plan, PlanOptions } from './plan.ts';
import { createFindings, type Findings } from './reading/findings.ts';
import { secretsSent } from './reading/secrets.ts';
import type { Path, Source } from './reading/source.ts';

export interface ApplyDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly changes: Pick<Changes, 'catchUp'>;
  readonly checkVirtualKey: CheckVirtualKey;
  readonly secrets: SecretSource;
  readonly identities: MachineIdentities;
  readonly endings: Pick<EndingsOf, 'endWorkspace'>;
}

/** Who wants a file to hold, and by which call. */
export interface Asking {
  readonly who: Principal;
  readonly path: string;
  readonly requestId: string;
  readonly clientAddress: string;
}

/** A file as it is sent: the one of `gateway apply` with its secrets in it. */
export interface SentFile {
  readonly file: Readonly<Record<string, unknown>>;
  readonly prune: boolean;
}

export interface ShownFault {
  /** What of the file is meant. */
  readonly path: Path;
  readonly message: string;
}

export interface ShownDifference {
  readonly field: string;
  readonly is_secret: boolean;
  readonly from?: unknown;
  readonly to?: unknown;
}

/** A plan as callers get it. */
export interface ShownPlan {
  readonly object: 'apply-plan';
  readonly name: string | null;
  readonly steps: readonly {
    readonly action: 'create' | 'change' | 'delete';
    readonly kind: string;
    readonly title: string;
    readonly workspace: string | null;
    readonly differences: readonly ShownDifference[];
  }[];
  readonly unchanged: number;
  readonly kept: readonly string[];
  readonly faults: readonly ShownFault[];
  readonly missing_scopes: readonly Scope[];
  /** What `POST /v1/admin/apply` takes to do this and nothing else; null where there are faults. */
  readonly agreement: string | null;
}

/** All of it is one transaction, during which calls on the embedded store wait. */
const MOST_OBJECTS = 2_000;

/** Applies files that callers send, with their scopes, within their reach, and under their names in the audit log. */
export function createApplying({
  store,
  sealer,
  changes,
  checkVirtualKey: check,
  secrets,
  identities,
  endings,
}: ApplyDeps) {
  const groundOf = (asking: Asking): Ground => ({
    store,
    sealer,
    who: asking.who,
    author: authorOf(asking),
    endWorkspace: () => endings.endWorkspace,
  });

  const read = async ({ who }: Asking, { file }: SentFile, findings: Findings): Promise<ApplyFile | null> => {
    const source = sourceOf(file);
    const found = readApplyFile(source, findings, secretsSent);
    if (found === null || findings.faults.length > 0) return null;
    const count = Object.values(found.desired).flat().length;
    if (count > MOST_OBJECTS) {
      findings.fault(source.placeOf([]), `the file names ${count} objects, and a call takes ${MOST_OBJECTS}; split it`);
      return null;
    }
    // To be told how it differs from what is there is to read that.
    for (const kind of kinds)
      if (kind.wishes(found.desired).length > 0 && !who.scopes.has(kind.scopes.read))
        fail('insufficient_scope', kind.scopes.read);
    // Names of hosts are looked up for callers who could store them, and for no other.
    const mayStore = who.scopes.has('virtual_keys.create') || who.scopes.has('virtual_keys.update');
    await checkWishes(found.desired, { check: mayStore ? check : async () => {}, secrets, identities }, findings);
    return findings.faults.length > 0 ? null : found;
  };

  return {
    /** What carrying out would do now. Changes nothing. */
    async plan(asking: Asking, sent: SentFile): Promise<ShownPlan> {
      const findings = createFindings();
      const found = await read(asking, sent, findings);
      if (found === null) return shown(null, findings, { plan: NOTHING, who: asking.who });
      const plan = await look(groundOf(asking), found.desired, findings, optionsOf(found, sent));
      return shown(found.name, findings, { plan, who: asking.who });
    },

    /** All of it or nothing; with the agreement to a plan, that plan or nothing. */
    async carryOut(asking: Asking, { agreement, ...sent }: SentFile & { agreement?: string }): Promise<ShownPlan> {
      const findings = createFindings();
      const found = await read(asking, sent, findings);
      if (found === null)
        return fail(
          'apply_refused',
          findings.faults.map(({ says }) => says),
        );
      const plan = await carryOut(groundOf(asking), {
        desired: found.desired,
        plan: agreement === undefined ? null : { agreement },
        options: optionsOf(found, sent),
      });
      await changes.catchUp();
      return shown(found.name, findings, { plan, who: asking.who });
    },
  };
}

export type Applying = ReturnType<typeof createApplying>;

const NOTHING: Plan = { steps: [], unchanged: 0, kept: [], leftDeleted: [], agreement: '' };

/** A value that was sent has no lines; its parts are known by what leads to them. */
const sourceOf = (value: unknown): Source => ({
  file: 'file',
  value,
  placeOf: (path) => ({ file: 'file', line: 0, path }),
});

const optionsOf = ({ name }: ApplyFile, { prune }: SentFile): PlanOptions => ({
  manager: `apply/${name}`,
  mode: 'state',
  prune,
  place: { file: 'file', line: 0, path: [] },
});

function authorOf({ who, path, requestId, clientAddress }: Asking): Author {
  const { type, id } = auditedCaller(loggedCaller(who));
  return {
    uriOf: () => path,
    user_type: type,
    user_id: id,
    client_ip: clientAddress,
    told: { request_id: requestId },
  };
}

const shownDifference = ({ field, from, to }: Difference): ShownDifference =>
  from === undefined && to === undefined ? { field, is_secret: true } : { field, is_secret: false, from, to };

function shown(name: string | null, { faults }: Findings, { plan, who }: { plan: Plan; who: Principal }): ShownPlan {
  return {
    object: 'apply-plan',
    name,
    steps: plan.steps.map(({ action, kind, title, workspace, differences }) => ({
      ...{ action, kind, title, workspace },
      differences: differences.map(shownDifference),
    })),
    unchanged: plan.unchanged,
    kept: plan.kept,
    faults: faults.map(({ path = [], says }) => ({ path, message: says })),
    missing_scopes: missingScopes(plan, who),
    agreement: faults.length > 0 ? null : plan.agreement,
  };
}
