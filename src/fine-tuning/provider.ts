import type { VirtualKeys } from '../auth/virtual-keys.ts';
import { fail } from '../core/errors.ts';
import type { WorkspaceId } from '../core/ids.ts';
import type { Principal } from '../core/principal.ts';
import type { FineTuningOptions } from '../providers/fine-tuning-options.ts';
import { findTarget, type Target } from '../relay/target.ts';
import type { Backend, Place } from './backends/backend.ts';
import { backendOf } from './backends/index.ts';
import type { Job } from './job.ts';

/** Who does the work of a job, and how it is spoken to. */
export interface Behind {
  readonly target: Target;
  readonly place: Place;
  readonly backend: Backend;
}

/** The provider behind a virtual key of the caller's workspace. */
export async function behindKey(
  who: Principal,
  slug: string,
  virtualKeys: Pick<VirtualKeys, 'resolve'>,
): Promise<Behind> {
  const { configurations } = await virtualKeys.resolve(who, slug);
  const nothingSent = { headers: {}, providerKey: null };
  const target = await findTarget({ by: 'virtual-key', slug }, who, nothingSent, virtualKeys);
  return {
    target,
    backend: backendOf(target.provider.name),
    place: {
      options: target.options,
      // Checked when the virtual key was saved.
      tuning: (configurations.fine_tuning ?? {}) as FineTuningOptions,
      hasCustomHost: target.customHost !== null,
    },
  };
}

export interface BehindDeps {
  readonly virtualKeys: Pick<VirtualKeys, 'resolve'>;
  /** The key or user that made a job may be gone; the job goes on. */
  readonly workspaceAsCaller: (id: WorkspaceId) => Promise<Principal>;
}

/** The provider of a job, asked for on behalf of the workspace. */
export async function behindJob(job: Job, { virtualKeys, workspaceAsCaller }: BehindDeps): Promise<Behind> {
  const who = await workspaceAsCaller(job.workspaceId);
  const behind = await behindKey(who, job.virtualKey, virtualKeys);
  // A key that was made anew for another provider knows nothing of this job.
  if (behind.target.provider.name !== job.provider) fail('unknown_virtual_key', job.virtualKey);
  return behind;
}
