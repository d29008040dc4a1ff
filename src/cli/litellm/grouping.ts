import { slugFrom } from '../../core/ids.ts';
import { canonical, type VirtualKeyWish } from '../../desired/desired.ts';
import type { Findings } from '../../desired/reading/findings.ts';
import type { Model, Models, ReadModel } from './models.ts';
import type { OwnPrice } from './prices.ts';

/** Models that share a credential and its host share a virtual key. */
export function grouped(read: readonly ReadModel[], findings: Findings, workspace: string): Models {
  const groups = Map.groupBy(read, ({ access: { provider, key, custom_host, configurations } }) =>
    canonical([provider, key, custom_host, configurations]),
  );
  const taken = new Set<string>();
  const virtualKeys: VirtualKeyWish[] = [];
  const models: Model[] = [];
  for (const group of groups.values()) {
    const slug = slugFor(group[0]!, taken);
    taken.add(slug);
    virtualKeys.push(wishOf(group, { slug, workspace, prices: pricesOf(group, slug, findings) }));
    for (const { access: _, limits, budget, price: __, ...model } of group) {
      models.push({ ...model, slug });
      // A limit of the whole credential would be another one than that of a single model.
      const what = [limits.length > 0 && 'rpm and tpm', budget && 'max_budget'].filter(Boolean).join(', ');
      if (what && group.length > 1)
        findings.leaveOut(
          model.place,
          `model ${model.name}: ${what}, because other models share its credential (${slug})`,
        );
    }
  }
  return { virtualKeys, models };
}

/** By the provider's names of the models. */
function pricesOf(group: readonly ReadModel[], slug: string, findings: Findings): Record<string, OwnPrice> {
  const prices = new Map<string, OwnPrice>();
  for (const { name, model, price, place } of group) {
    if (price === null) continue;
    const known = prices.get(model);
    if (model.includes('*')) findings.leaveOut(place, `model ${name}: its price, which no single model has`);
    else if (known && canonical(known) !== canonical(price))
      findings.leaveOut(place, `model ${name}: its price, because ${model} of ${slug} has another one already`);
    else prices.set(model, price);
  }
  return Object.fromEntries(prices);
}

function wishOf(
  group: readonly ReadModel[],
  { slug, workspace, prices }: { slug: string; workspace: string; prices: Record<string, OwnPrice> },
): VirtualKeyWish {
  const { access, place, limits, budget } = group[0]!;
  const { provider, key, custom_host, configurations } = access;
  const isAlone = group.length === 1;
  return {
    place,
    ref: `${workspace}/${slug}`,
    workspace,
    slug,
    key,
    fields: {
      name: slug,
      note: `From LiteLLM: ${[...new Set(group.map(({ name }) => name))].join(', ')}`.slice(0, 2_000),
      provider,
      custom_host,
      configurations: Object.keys(prices).length > 0 ? { ...configurations, prices } : configurations,
      expires_at: null,
      rate_limits: isAlone ? limits : [],
      usage_limits: isAlone && budget ? [budget] : [],
    },
  };
}

/** From names that stay: the variable of the credential, then the place, then the model; the first that is free. */
function slugFor({ access, name }: ReadModel, taken: ReadonlySet<string>): string {
  const { provider, variable, place } = access;
  const own = variable?.replace(/_?(API_)?(KEY|TOKEN)$/i, '') || provider;
  const base = slugFrom(own, provider);
  const candidates = [base, ...(place ? [slugFrom(`${base}-${place}`, base)] : []), slugFrom(`${base}-${name}`, base)];
  const free = candidates.find((candidate) => !taken.has(candidate));
  if (free) return free;
  for (let number = 2; ; number++) if (!taken.has(`${base}-${number}`)) return `${base}-${number}`;
}
