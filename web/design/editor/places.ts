import { syntaxTree } from '@codemirror/language';
import type { EditorState } from '@codemirror/state';

export type SyntaxNode = ReturnType<typeof syntaxTree>['topNode'];
export type Path = readonly (string | number)[];

/** `targets[1].weight` → `['targets', 1, 'weight']`. */
export const readPath = (text: string): Path =>
  [...text.matchAll(/\[(\d+)\]|([^.[\]]+)/g)].map(([, index, name]) => (index === undefined ? name! : Number(index)));

const VALUES = new Set(['Object', 'Array', 'String', 'Number', 'True', 'False', 'Null']);
const isValue = ({ name }: SyntaxNode) => VALUES.has(name);

function* children(node: SyntaxNode): Generator<SyntaxNode> {
  for (let child = node.firstChild; child; child = child.nextSibling) yield child;
}

const values = (node: SyntaxNode): SyntaxNode[] => [...children(node)].filter(isValue);

const textOf = (state: EditorState, node: SyntaxNode): string => {
  const text = state.sliceDoc(node.from, node.to);
  try {
    return String(JSON.parse(text));
  } catch {
    return text.replace(/^"|"$/g, '');
  }
};

const nameOf = (state: EditorState, property: SyntaxNode): string | null => {
  const name = property.getChild('PropertyName');
  return name ? textOf(state, name) : null;
};

export const namesIn = (state: EditorState, object: SyntaxNode): string[] =>
  object.getChildren('Property').flatMap((each) => nameOf(state, each) ?? []);

/** Where a path stands in the text; what is missing is shown at what should hold it. */
export function placeOf(state: EditorState, path: Path): { from: number; to: number } {
  let node = values(syntaxTree(state).topNode)[0];
  if (!node) return { from: 0, to: 0 };
  let shown = { from: node.from, to: node.from + 1 };
  for (const step of path) {
    const next: SyntaxNode | undefined =
      typeof step === 'number'
        ? values(node)[step]
        : node.getChildren('Property').find((each) => nameOf(state, each) === step);
    if (!next) return shown;
    const property: SyntaxNode = next;
    const value: SyntaxNode | undefined = property.name === 'Property' ? values(property)[0] : property;
    shown = { from: property.from, to: value && isLeaf(value) ? value.to : firstLine(state, property) };
    if (!value) return shown;
    node = value;
  }
  return shown;
}

const isLeaf = ({ name }: SyntaxNode) => name !== 'Object' && name !== 'Array';
const firstLine = (state: EditorState, { from, to }: SyntaxNode) => Math.min(to, state.doc.lineAt(from).to);

/** The path of a node: of a property its own, of a value that of its holder. */
export function pathTo(state: EditorState, from: SyntaxNode): Path {
  const path: (string | number)[] = [];
  for (let node: SyntaxNode | null = from; node?.parent; node = node.parent) {
    if (node.name === 'Property') path.unshift(nameOf(state, node) ?? '');
    else if (node.parent.name === 'Array' && isValue(node)) {
      const { from: start } = node;
      path.unshift(values(node.parent).filter((each) => each.from < start).length);
    }
  }
  return path;
}
