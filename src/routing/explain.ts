import type { Facts } from './conditions.ts';
import type { LoadbalanceStep, Plan, Step } from './plan.ts';
import { stickyPoint } from './strategy.ts';

/** What a call of these facts means for one step of a plan. */
export interface ExplainedStep {
  readonly step: Step;
  /** `first`: the call may come here at once; `later`: only after others failed; `never`: not with these facts. */
  readonly when: 'first' | 'later' | 'never';
  /** Of the calls that are like this one, how many come here once it is this step's turn: 0 to 1. */
  readonly share: number;
  readonly why: string;
}

type Reach = Omit<ExplainedStep, 'step'>;

/** Every step of a plan in its order, and whether a call would come to it. Nothing is sent, and no breaker is asked. */
export function explainPlan({ root }: Plan, facts: Facts, now: () => number): ExplainedStep[] {
  const all = new Map<string, ExplainedStep>();
  const walk = (step: Step, reach: Reach): void => {
    // Two conditions may lead to the same target: what reaches it counts.
    const before = all.get(step.path);
    if (before && before.when !== 'never') return;
    all.set(step.path, { step, ...reach });
    for (const [below, reached] of reachedFrom(step, reach, facts, now)) walk(below, reached);
  };
  walk(root, { when: 'first', share: 1, why: 'the config begins here' });
  return [...all.values()];
}

const NEVER = (why: string): Reach => ({ when: 'never', share: 0, why });

function reachedFrom(step: Step, reach: Reach, facts: Facts, now: () => number): (readonly [Step, Reach])[] {
  if (step.kind === 'target') return [];
  const steps = step.kind === 'conditional' ? [...step.branches.map((each) => each.step), step.otherwise] : step.steps;
  if (reach.when === 'never') return steps.map((each) => [each, NEVER(reach.why)]);
  switch (step.kind) {
    case 'fallback':
      return step.steps.map((each, index) => [
        each,
        index === 0
          ? { ...reach, why: 'asked first' }
          : { ...reach, when: 'later', why: `asked when ${step.steps[index - 1]!.path} ${failing(step.statuses)}` },
      ]);
    case 'loadbalance':
      return balanced(step, reach, { facts, now });
    case 'conditional': {
      const held = step.branches.findIndex(({ condition }) => condition(facts));
      const chosen = held < 0 ? step.otherwise : step.branches[held]!.step;
      const where = `${step.path}.strategy`;
      const why = held < 0 ? `no condition holds, and ${where}.default names it` : `${where}.conditions[${held}] holds`;
      // The chosen one first: a target that several conditions name is told once.
      return [
        [chosen, { ...reach, why }],
        ...steps
          .filter((each) => each !== chosen)
          .map((each) => [each, NEVER(held < 0 ? 'no condition for it holds' : why)] as const),
      ];
    }
  }
}

function balanced(
  step: LoadbalanceStep,
  reach: Reach,
  deps: { facts: Facts; now: () => number },
): (readonly [Step, Reach])[] {
  const total = step.steps.reduce((sum, { weight }) => sum + weight, 0);
  if (!step.sticky)
    return step.steps.map((each) => [
      each,
      each.weight === 0
        ? NEVER('its weight is 0')
        : {
            when: reach.when,
            share: (reach.share * each.weight) / total,
            why: `its weight is ${each.weight} of ${total}`,
          },
    ]);
  let left = stickyPoint(step, deps) * total;
  const weighted = step.steps.filter(({ weight }) => weight > 0);
  const chosen =
    weighted.find(({ weight }) => {
      left -= weight;
      return left < 0;
    }) ?? weighted.at(-1)!;
  const fields = step.sticky.fields.join(', ');
  return step.steps.map((each) => [
    each,
    each === chosen
      ? { ...reach, why: `the values of ${fields} stay here for now` }
      : NEVER(`the values of ${fields} stay elsewhere for now`),
  ]);
}

const failing = (statuses: ReadonlySet<number> | null) =>
  statuses ? `ends with ${[...statuses].join(', ')}` : 'does not end with a 2xx';
