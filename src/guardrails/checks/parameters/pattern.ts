import { RE2JS } from 're2js';
import * as z from 'zod';
import { compilePattern } from '../../../core/patterns.ts';
import type { Span } from '../../check.ts';

/** A pattern of the RE2 kind: its time is linear in the text, whatever it is. */
export const pattern = () =>
  z
    .string()
    .min(1, 'give a pattern')
    .transform((rule, context) => compiled(rule, 0, context));

/** The same, also written `/pattern/flags` as in JavaScript. */
export const patternWithFlags = () =>
  z
    .string()
    .min(1, 'give a pattern')
    .transform((rule, context) => {
      const [, source, letters] = /^\/(.+)\/([a-z]*)$/s.exec(rule) ?? [];
      if (source === undefined || letters === undefined) return compiled(rule, 0, context);
      let flags = 0;
      for (const letter of letters) {
        if (!(letter in FLAGS)) {
          context.addIssue({ code: 'custom', message: `has the flag "${letter}"; known are g, i, m, s and u` });
          return z.NEVER;
        }
        flags |= FLAGS[letter as keyof typeof FLAGS];
      }
      return compiled(source, flags, context);
    });

// Every hit is replaced and every pattern knows Unicode, so two of the letters say what is so anyway.
const FLAGS = { g: 0, u: 0, i: RE2JS.CASE_INSENSITIVE, m: RE2JS.MULTILINE, s: RE2JS.DOTALL } as const;

function compiled(rule: string, flags: number, context: z.RefinementCtx): RE2JS {
  try {
    return compilePattern(rule, flags);
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message });
    return z.NEVER;
  }
}

interface Instruction {
  readonly op: number;
  readonly out: number;
  readonly arg: number;
}

// Kinds of instructions of a compiled pattern; those from RUNE to RUNE_ANY_NOT_NL take one character.
const [ALT, ALT_MATCH, FAIL, MATCH, RUNE, RUNE_ANY_NOT_NL] = [1, 2, 5, 6, 8, 11];
const UNITS_PER_CHARACTER = 2;

/** The longest text that the pattern can match, with one character around it for `\b`; `whole` where there is no bound. */
export function longestMatch({ re2Input }: RE2JS): Span {
  const { inst: instructions, start } = re2Input.prog as { inst: readonly Instruction[]; start: number };
  const longest = new Map<number, number>();
  const walk = (at: number): number => {
    const known = longest.get(at);
    if (known !== undefined) return known;
    longest.set(at, Number.POSITIVE_INFINITY); // what leads back to itself has no end
    const { op, out, arg } = instructions[at]!;
    let length: number;
    if (op === MATCH || op === FAIL) length = 0;
    else if (op === ALT || op === ALT_MATCH) length = Math.max(walk(out), walk(arg));
    else length = walk(out) + (op >= RUNE! && op <= RUNE_ANY_NOT_NL! ? 1 : 0);
    longest.set(at, length);
    return length;
  };
  const characters = walk(start);
  return Number.isFinite(characters) ? (characters + 2) * UNITS_PER_CHARACTER : 'whole';
}
