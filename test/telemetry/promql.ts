/** What an expression of PromQL asks for. */
export interface Expression {
  readonly selectors: readonly Selector[];
  /** Labels of `by`, `without`, `on`, `ignoring`, `group_left` and `group_right`. */
  readonly grouped: readonly string[];
  /** Without their dollar sign. */
  readonly variables: readonly string[];
}

export interface Selector {
  readonly metric: string;
  readonly matchers: readonly { readonly label: string; readonly operator: string; readonly value: string }[];
  /** With `[5m]` behind it. */
  readonly isRange: boolean;
  /** The innermost function around it. */
  readonly inside: string | null;
}

const TOKEN = new RegExp(
  [
    String.raw`(?<space>\s+)`,
    String.raw`(?<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')`,
    String.raw`(?<range>\[(?:\d+(?:ms|[smhdwy])|\$\w+)(?::(?:\d+(?:ms|[smhdwy]))?)?\])`,
    String.raw`(?<number>(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?:ms|[smhdwy])?)`,
    '(?<name>[a-zA-Z_:][a-zA-Z0-9_:]*)',
    '(?<symbol>!~|=~|!=|==|>=|<=|[-+*/%^=<>(){},])',
  ].join('|'),
  'y',
);
const LISTS = new Set(['by', 'without', 'on', 'ignoring', 'group_left', 'group_right']);
const WORDS = new Set(['and', 'or', 'unless', 'bool', 'offset']);
const FUNCTIONS = new Set([
  ...['sum', 'min', 'max', 'avg', 'count', 'topk', 'bottomk', 'quantile', 'group', 'stddev'],
  ...['rate', 'irate', 'increase', 'delta', 'changes', 'resets', 'absent', 'histogram_quantile', 'time', 'vector'],
  ...['clamp_min', 'clamp_max', 'label_replace', 'max_over_time', 'min_over_time', 'avg_over_time', 'scalar', 'round'],
]);

interface Token {
  readonly kind: string;
  readonly text: string;
}

/** Reads an expression as far as its metrics and labels go, and throws where it is none. */
export function readExpression(expression: string): Expression {
  const tokens = tokensOf(expression);
  const selectors: Selector[] = [];
  const grouped: string[] = [];
  const around: (string | null)[] = [];
  let at = 0;
  const fault = (why: string): never => {
    throw new Error(`${why} at "${tokens[at]?.text ?? 'the end'}" of ${expression}`);
  };
  const take = (text: string) => (tokens[at]?.text === text ? at++ : fault(`"${text}" is missing`));

  const readList = () => {
    take('(');
    for (; tokens[at]?.text !== ')'; ) {
      if (tokens[at]?.kind !== 'name') fault('no label');
      grouped.push(tokens[at++]!.text);
      if (tokens[at]?.text === ',') at++;
    }
    at++;
  };
  const readSelector = (metric: string) => {
    const matchers: { label: string; operator: string; value: string }[] = [];
    if (tokens[at]?.text === '{') {
      for (at++; tokens[at]?.text !== '}'; ) {
        const [label, operator, value] = [tokens[at++], tokens[at++], tokens[at++]];
        if (label?.kind !== 'name' || value?.kind !== 'text' || !/^(?:=|!=|=~|!~)$/.test(operator?.text ?? ''))
          fault('no matcher');
        matchers.push({ label: label!.text, operator: operator!.text, value: value!.text.slice(1, -1) });
        if (tokens[at]?.text === ',') at++;
      }
      at++;
    }
    const isRange = tokens[at]?.kind === 'range';
    if (isRange) at++;
    selectors.push({ metric, matchers, isRange, inside: around.findLast((name) => name !== null) ?? null });
  };

  while (at < tokens.length) {
    const { kind, text } = tokens[at++]!;
    if (text === '(') around.push(null);
    else if (text === ')') {
      if (around.length === 0) fault('one parenthesis too many');
      around.pop();
    } else if (kind === 'range') fault('a range of nothing');
    else if (kind !== 'name' || WORDS.has(text)) continue;
    else if (LISTS.has(text)) readList();
    else if (tokens[at]?.text === '(' || FUNCTIONS.has(text)) {
      if (!FUNCTIONS.has(text)) fault(`${text} is no function that is known here`);
      if (tokens[at]?.text !== '(') {
        if (!LISTS.has(tokens[at]?.text ?? '')) fault('no parenthesis after a function');
        at++;
        readList();
      }
      take('(');
      around.push(text);
    } else readSelector(text);
  }
  if (around.length > 0) fault('a parenthesis is missing');
  if (selectors.length === 0 && !/\bvector\(/.test(expression)) fault('no metric');
  return { selectors, grouped, variables: variablesIn(expression) };
}

/** Those that a text of a dashboard uses: `$name`, `${name}`. */
export const variablesIn = (text: string): string[] => [...text.matchAll(/\$\{?(\w+)/g)].map(([, name]) => name!);

function tokensOf(expression: string): Token[] {
  const tokens: Token[] = [];
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < expression.length; ) {
    const from = TOKEN.lastIndex;
    const groups = TOKEN.exec(expression)?.groups;
    if (!groups) throw new Error(`"${expression.slice(from, from + 10)}" is not understood in ${expression}`);
    const [kind, text] = Object.entries(groups).find(([, found]) => found !== undefined)!;
    if (kind !== 'space') tokens.push({ kind, text });
  }
  return tokens;
}
