import type { ResponseOf } from '../../api/client.ts';
import type { LogEntry } from '../logs/entries.ts';

export type ClientSpan = ResponseOf<'/v1/log-sessions/{id}/spans'>['data'][number];

/** A thing of a session: a trace that holds several, a call, or what the client told of itself. */
export type TreeNode =
  | { readonly kind: 'trace'; readonly id: string; readonly depth: number; readonly calls: readonly LogEntry[] }
  | { readonly kind: 'call'; readonly id: string; readonly depth: number; readonly call: LogEntry }
  | { readonly kind: 'span'; readonly id: string; readonly depth: number; readonly span: ClientSpan };

const beginOf = (node: Exclude<TreeNode, { kind: 'trace' }>): number =>
  node.kind === 'call' ? node.call.created_at : node.span.started_at;

/** Deeper than this is shown at this depth. */
const DEEPEST = 6;

/** Calls and spans in the order in which they began; those of one trace below it, spans below the span that began them. */
export function treeOf(calls: readonly LogEntry[], spans: readonly ClientSpan[]): readonly TreeNode[] {
  const depths = depthsOf(spans);
  const byTrace = new Map<string, Exclude<TreeNode, { kind: 'trace' }>[]>();
  const add = (trace: string, node: Exclude<TreeNode, { kind: 'trace' }>) => {
    const before = byTrace.get(trace);
    if (before) before.push(node);
    else byTrace.set(trace, [node]);
  };
  for (const call of calls) add(call.trace_id, { kind: 'call', id: call.id, depth: 0, call });
  for (const span of spans)
    add(span.trace_id ?? span.id, { kind: 'span', id: span.id, depth: depths.get(span.id) ?? 0, span });
  const groups = [...byTrace].map(([trace, nodes]) => ({
    trace,
    nodes: nodes.toSorted((one, other) => beginOf(one) - beginOf(other)),
  }));
  return groups
    .toSorted((one, other) => beginOf(one.nodes[0]!) - beginOf(other.nodes[0]!))
    .flatMap(({ trace, nodes }): readonly TreeNode[] => {
      if (nodes.length === 1) return nodes;
      const within = nodes.map((node) => ({ ...node, depth: node.depth + 1 }));
      const own = nodes.flatMap((node) => (node.kind === 'call' ? [node.call] : []));
      return [{ kind: 'trace', id: trace, depth: 0, calls: own }, ...within];
    });
}

function depthsOf(spans: readonly ClientSpan[]): ReadonlyMap<string, number> {
  const bySpan = new Map(spans.flatMap((span) => (span.span_id ? [[span.span_id, span] as const] : [])));
  const depthOf = (span: ClientSpan): number => {
    let depth = 0;
    let parent = span.parent_span_id ? bySpan.get(span.parent_span_id) : undefined;
    // What clients send may point in a circle.
    while (parent && depth < DEEPEST) {
      depth++;
      parent = parent.parent_span_id ? bySpan.get(parent.parent_span_id) : undefined;
    }
    return depth;
  };
  return new Map(spans.map((span) => [span.id, depthOf(span)]));
}
