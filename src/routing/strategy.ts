import { createHash } from 'node:crypto';
import type { Breakers } from './breaker.ts';
import type { Facts } from './conditions.ts';
import type { LoadbalanceStep, Plan, Step, TargetStep } from './plan.ts';

/** What trying a target came to: an answer whose body was not read yet. */
export interface Attempted {
  readonly status: number;
  /** Lets go of an answer that is not used. */
  discard(): void;
}

export interface StrategyDeps<Result extends Attempted> {
  readonly attempt: (target: TargetStep) => Promise<Result>;
  readonly breakers: Breakers;
  readonly facts: Facts;
  readonly now: () => number;
  /** From 0 to below 1. */
  readonly random: () => number;
  /** The status an error of a target stands for; null: the target did not cause it, and no other target is tried. */
  readonly statusOf: (error: unknown) => number | null;
  /** Told of each target that failed with an error. */
  readonly onFailure?: (error: unknown) => void;
  /** Told of each target that is left alone because its circuit breaker is open. */
  readonly onPassedOver?: (target: TargetStep) => void;
}

/** What a guardrail has denied, another target is only asked when the config says so. */
const DENIED = 446;

/** Every target of a plan. */
export function targetsOf(step: Step): TargetStep[] {
  switch (step.kind) {
    case 'target':
      return [step];
    case 'conditional':
      return [...step.branches.map((branch) => branch.step), step.otherwise].flatMap(targetsOf);
    default:
      return step.steps.flatMap(targetsOf);
  }
}

/** Whether a call may come to an answer when the guardrails of some targets deny it. */
export function mayPass(step: Step, isDenied: (target: TargetStep) => boolean): boolean {
  const passes = (each: Step) => mayPass(each, isDenied);
  switch (step.kind) {
    case 'target':
      return !isDenied(step);
    case 'fallback':
      return step.statuses?.has(DENIED) ? step.steps.some(passes) : passes(step.steps[0]!);
    case 'loadbalance':
      return step.steps.some(passes);
    case 'conditional':
      return step.branches.some((branch) => passes(branch.step)) || passes(step.otherwise);
  }
}

/** Walks the plan until a target's answer stands. Errors of targets are thrown unless another target comes after. */
export function runPlan<Result extends Attempted>(plan: Plan, deps: StrategyDeps<Result>): Promise<Result> {
  const run = async (step: Step): Promise<Result> => {
    switch (step.kind) {
      case 'target':
        return tryTarget(step);
      case 'fallback':
        return fallback(step.steps, step.statuses);
      case 'loadbalance':
        return run(balance(step));
      case 'conditional':
        return run(step.branches.find(({ condition }) => condition(deps.facts))?.step ?? step.otherwise);
    }
  };

  const keyOf = (step: Step) => `${plan.id} ${step.path}`;
  const isOpen = (step: Step): boolean =>
    step.kind === 'target' && step.breaker !== null && deps.breakers.isOpen(keyOf(step));

  /** Without those that are left alone; all of them, where that would be none. */
  const withoutOpen = (steps: readonly Step[]): readonly Step[] => {
    const open = steps.filter(isOpen);
    if (open.length === 0 || open.length === steps.length) return steps;
    for (const step of open) if (step.kind === 'target') deps.onPassedOver?.(step);
    return steps.filter((step) => !open.includes(step));
  };

  const tryTarget = async (target: TargetStep): Promise<Result> => {
    const record = (status: number | null) => {
      if (target.breaker && status !== null) deps.breakers.record(keyOf(target), target.breaker, status);
    };
    try {
      const result = await deps.attempt(target);
      record(result.status);
      return result;
    } catch (error) {
      deps.onFailure?.(error);
      record(deps.statusOf(error));
      throw error;
    }
  };

  const fallback = async (steps: readonly Step[], statuses: ReadonlySet<number> | null): Promise<Result> => {
    const isFailure = (status: number) =>
      statuses ? statuses.has(status) : (status < 200 || status > 299) && status !== DENIED;
    const tried = withoutOpen(steps);
    for (const step of tried.slice(0, -1)) {
      try {
        const result = await run(step);
        if (!isFailure(result.status)) return result;
        result.discard();
      } catch (error) {
        const status = deps.statusOf(error);
        if (status === null || !isFailure(status)) throw error;
      }
    }
    return run(tried.at(-1)!);
  };

  const balance = (step: LoadbalanceStep): Step => {
    const weighted = step.steps.filter(({ weight }) => weight > 0);
    const steps = withoutOpen(weighted);
    const total = steps.reduce((sum, { weight }) => sum + weight, 0);
    let left = (step.sticky ? stickyPoint(step, deps) : deps.random()) * total;
    for (const each of steps) {
      left -= each.weight;
      if (left < 0) return each;
    }
    return steps.at(-1)!;
  };

  return run(plan.root);
}

/** The same values fall on the same target for the time to live, whichever process asks. */
export function stickyPoint(
  { sticky, path }: LoadbalanceStep,
  { facts, now }: { facts: Facts; now: () => number },
): number {
  const values = sticky!.fields.map((field) => fieldOf(field, facts));
  const hash = createHash('sha256')
    .update(JSON.stringify([path, values]))
    .digest();
  // Each group of values changes over at its own time, not all at once.
  const offset = hash.readUInt32BE(8) % sticky!.ttlMs;
  const epoch = Math.floor((now() + offset) / sticky!.ttlMs);
  return createHash('sha256').update(hash).update(String(epoch)).digest().readUInt32BE(0) / 2 ** 32;
}

function fieldOf(field: string, { metadata, params }: Facts): unknown {
  if (field.startsWith('metadata.')) return metadata?.[field.slice('metadata.'.length)] ?? null;
  const steps = (field.startsWith('params.') ? field.slice('params.'.length) : field).split('.');
  return (
    steps.reduce<unknown>(
      (value, step) =>
        value !== null && typeof value === 'object' ? (value as Record<string, unknown>)[step] : undefined,
      params(),
    ) ?? null
  );
}
