/** A model that a JSON text names, by the names of the members around it, arrays left out: `['tools', 'model']`. */
export interface NamedModel {
  readonly path: readonly string[];
  readonly name: string;
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/gs;

/**
 * Every string under a member `model`, and every one in a list `models`, in whatever case and however often the member
 * stands there: readers differ in which one counts. Null: the text is no JSON.
 */
export function namedModels(text: string): readonly NamedModel[] | null {
  if (!isJson(text)) return null;
  const found: NamedModel[] = [];
  /** For each open object the member that is being read, for each open array that of the object around it. */
  const open: { readonly isArray: boolean; name: string }[] = [];
  let isName = false;
  for (const [token] of text.matchAll(TOKEN)) {
    const around = open.at(-1);
    if (token === '{' || token === '[') {
      open.push({ isArray: token === '[', name: '' });
      isName = token === '{';
    } else if (token === '}' || token === ']') {
      open.pop();
      isName = false;
    } else if (token === ',') isName = around?.isArray === false;
    else if (token === ':') isName = false;
    else if (isName && around) around.name = JSON.parse(token);
    else if (around) note(token, open, found);
  }
  return found;
}

function note(
  token: string,
  open: readonly { readonly isArray: boolean; readonly name: string }[],
  found: NamedModel[],
) {
  const path = open.filter(({ isArray }) => !isArray).map(({ name }) => name);
  const last = path.at(-1)?.toLowerCase();
  const isListed = open.at(-1)!.isArray;
  if (last === (isListed ? 'models' : 'model')) found.push({ path, name: JSON.parse(token) });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
