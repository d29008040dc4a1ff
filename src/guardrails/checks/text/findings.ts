import type { CheckResult, Facts, TextPart } from '../../check.ts';

/** Something that was found in a text, from `start` to before `end`. */
export interface Finding {
  readonly category: string;
  readonly start: number;
  readonly end: number;
}

/** Of findings that overlap, the one that was named first; in the order of the text. */
export function apart(findings: readonly Finding[]): Finding[] {
  const kept: Finding[] = [];
  const ranked = findings.map((finding, rank) => ({ ...finding, rank }));
  ranked.sort((one, other) => one.start - other.start || one.rank - other.rank);
  for (const { rank, ...finding } of ranked) {
    const last = kept.at(-1);
    if (!last || finding.start >= last.end) kept.push(finding);
    // Two that overlap are one thing or two; covering both leaves nothing of either.
    else if (finding.end > last.end) kept[kept.length - 1] = { ...last, end: finding.end };
  }
  return kept;
}

/** Replaces findings by `{{CATEGORY_1}}`: the same text has the same number in all parts, so that it can be followed. */
export class Redaction {
  readonly #numbers = new Map<string, number>();
  readonly #counts = new Map<string, number>();

  apply(text: string, findings: readonly Finding[]): string {
    let result = '';
    let at = 0;
    for (const { category, start, end } of findings) {
      result += `${text.slice(at, start)}{{${category}_${this.#numberOf(category, text.slice(start, end))}}}`;
      at = end;
    }
    return result + text.slice(at);
  }

  #numberOf(category: string, found: string): number {
    const key = `${category} ${found}`;
    let number = this.#numbers.get(key);
    if (number === undefined) {
      number = (this.#counts.get(category) ?? 0) + 1;
      this.#counts.set(category, number);
      this.#numbers.set(key, number);
    }
    return number;
  }
}

/** What a check that blocks or redacts answers. */
export function judgeFindings(
  { texts }: Pick<Facts, 'texts'>,
  redact: boolean,
  find: (text: string, kind: TextPart['kind']) => readonly Finding[],
): CheckResult {
  const redaction = new Redaction();
  const counts: Record<string, number> = {};
  const changed: { part: number; text: string }[] = [];
  const where: string[] = [];
  texts.forEach((each, part) => {
    const findings = find(each.text, each.kind);
    if (findings.length === 0) return;
    where.push(each.where);
    for (const { category } of findings) counts[category] = (counts[category] ?? 0) + 1;
    if (redact) changed.push({ part, text: redaction.apply(each.text, findings) });
  });
  const isFound = where.length > 0;
  return {
    verdict: redact || !isFound,
    data: { found: counts, where, redacted: redact && isFound },
    ...(changed.length > 0 && { transformed: { texts: changed } }),
  };
}
