import {
  type Completion,
  type CompletionContext,
  type CompletionResult,
  snippetCompletion,
} from '@codemirror/autocomplete';
import { syntaxTree } from '@codemirror/language';
import { namesIn, pathTo, type SyntaxNode } from './places.ts';
import { kindOf, meanings, type Schema, schemasAt } from './schema.ts';

/** Texts that a member may hold, by the member's name: slugs of virtual keys, names of providers. */
export type KnownValues = Readonly<Record<string, readonly string[]>>;

/** Completes names of members and their values from a schema. */
export const completeFrom =
  (schema: () => Schema | null, values: () => KnownValues) =>
  (context: CompletionContext): CompletionResult | null => {
    const root = schema();
    if (!root) return null;
    const node = syntaxTree(context.state).resolveInner(context.pos, -1);
    return inName(context, node, root) ?? inValue(context, node, root, values());
  };

function inName(context: CompletionContext, node: SyntaxNode, root: Schema): CompletionResult | null {
  const isName = node.name === 'PropertyName';
  const isFree = node.name === 'Object' || (node.name === '⚠' && node.parent?.name === 'Object');
  const before = context.matchBefore(/"?[\w.$-]*$/);
  if (!isName && !(isFree && (context.explicit || (before && before.text !== '')))) return null;
  const object = isName ? node.parent!.parent! : node.name === 'Object' ? node : node.parent!;
  const from = isName ? node.from : (before?.from ?? context.pos);
  // A value is being written, or one has just ended.
  if (!isName && !/[{,]\s*$/.test(context.state.sliceDoc(object.from, from))) return null;
  const to = isName ? node.to : context.pos;
  const after = context.state.sliceDoc(to, object.to);
  const hasValue = /^\s*:/.test(after);
  const isFollowed = /^\s*"/.test(after);
  const taken = new Set(namesIn(context.state, object));
  const options = schemasAt(root, pathTo(context.state, object)).flatMap((each) =>
    Object.entries(each.properties ?? {})
      .filter(([name, member]) => !taken.has(name) && !isForbidden(member))
      .map(([name, member]) => option(name, member, root, { hasValue, isFollowed })),
  );
  return { from, to, options, filter: true, validFor: /^"?[\w.$-]*"?$/ };
}

const isForbidden = (member: Schema) => 'not' in member;

function option(
  name: string,
  member: Schema,
  root: Schema,
  { hasValue, isFollowed }: { readonly hasValue: boolean; readonly isFollowed: boolean },
): Completion {
  const shown = {
    label: `"${name}"`,
    displayLabel: name,
    detail: kindOf(member, root),
    type: 'property',
    ...(member.description && { info: member.description, boost: 20 }),
  };
  if (hasValue) return { ...shown, apply: JSON.stringify(name) };
  return snippetCompletion(`"${name}": ${placeholder(meanings(member, root)[0] ?? {})}${isFollowed ? ',' : ''}`, shown);
}

function placeholder({ type, const: only, enum: choices }: Schema): string {
  if (only !== undefined) return JSON.stringify(only);
  if (choices) return '"#{}"';
  if (type === 'object') return '{ #{} }';
  if (type === 'array') return '[#{}]';
  if (type === 'string') return '"#{}"';
  return '#{}';
}

function inValue(
  context: CompletionContext,
  node: SyntaxNode,
  root: Schema,
  known: KnownValues,
): CompletionResult | null {
  const isText = node.name === 'String';
  const holder = isText ? node.parent : node.name === '⚠' ? node.parent : node;
  if (!holder || (holder.name !== 'Property' && holder.name !== 'Array')) return null;
  const word = context.matchBefore(/[\w"@./-]*$/);
  if (!isText && !context.explicit && !word?.text) return null;
  const path = pathTo(context.state, isText ? node : holder);
  const at = holder.name === 'Array' && !isText ? [...path, 0] : path;
  const name = at.findLast((step) => typeof step === 'string');
  const texts = typeof name === 'string' && Object.hasOwn(known, name) ? known[name]! : [];
  const choices = schemasAt(root, at).flatMap((each): readonly unknown[] =>
    each.const !== undefined ? [each.const] : (each.enum ?? (each.type === 'boolean' ? [true, false] : [])),
  );
  const options = [...new Set([...texts, ...choices])].map((value) => ({
    label: JSON.stringify(value),
    displayLabel: String(value),
    type: 'enum',
  }));
  if (options.length === 0) return null;
  return {
    from: isText ? node.from : (word?.from ?? context.pos),
    to: isText ? node.to : context.pos,
    options,
    validFor: /^"?[\w@./-]*"?$/,
  };
}
