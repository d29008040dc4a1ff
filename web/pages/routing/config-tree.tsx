import type { ResponseOf } from '../../api/client.ts';
import { Badge } from '../../design/badge.tsx';
import { Icon, type IconName } from '../../design/icon.tsx';
import type { Drawn } from './config.ts';

export type Explained = ResponseOf<'/v1/configs/dry-run', 'post'>['steps'][number];
type ByPath = ReadonlyMap<string, Explained>;

const MODES: Readonly<Record<string, { readonly label: string; readonly icon: IconName }>> = {
  fallback: { label: 'One after the other', icon: 'layers' },
  loadbalance: { label: 'Spread by weight', icon: 'gauge' },
  conditional: { label: 'By condition', icon: 'filter' },
  single: { label: 'One target', icon: 'right' },
};

export interface TreeProps {
  readonly root: Drawn;
  /** What a call would come to, by path; left out, the tree is drawn without it. */
  readonly explained?: ByPath | null;
  /** Leads to the place of a node in the text. */
  readonly onOpen?: (path: string) => void;
}

/** A config as a tree: strategies hold targets, and a dry run lights up the way that a call takes. */
export const ConfigTree = ({ root, ...rest }: TreeProps) => (
  <ul className="routing-tree">
    <Node node={root} order={null} {...rest} />
  </ul>
);

function Node({
  node,
  order,
  explained = null,
  onOpen,
}: {
  readonly node: Drawn;
  /** Under `fallback`: its turn. */
  readonly order: number | null;
} & Omit<TreeProps, 'root'>) {
  const told = explained?.get(node.path) ?? null;
  // What a plan leaves out, such as a target that no condition names, is not told.
  const when = told?.when ?? (explained && node.below.length === 0 ? 'never' : null);
  const face = (
    <>
      {node.mode ? <Strategy node={node} /> : <Target node={node} told={told} />}
      {node.when && <span className="routing-when small">{node.when}</span>}
      {node.traits.length > 0 && (
        <span className="line gap-1">
          {node.traits.map((trait) => (
            <Badge key={trait}>{trait}</Badge>
          ))}
        </span>
      )}
      {told?.problem && <span className="routing-problem small">{told.problem}</span>}
    </>
  );
  return (
    <li className={when ? `routing-${when}` : undefined}>
      <div className="routing-row">
        {order !== null && (
          <span className="routing-order" aria-hidden="true">
            {order}
          </span>
        )}
        {onOpen ? (
          <button type="button" className="routing-node" title={told?.why} onClick={() => onOpen(node.path)}>
            {face}
          </button>
        ) : (
          <div className="routing-node">{face}</div>
        )}
        {told && node.below.length === 0 && <Turn told={told} />}
      </div>
      {node.below.length > 0 && (
        <ul>
          {node.below.map((below, index) => (
            <Node
              key={below.path}
              node={below}
              order={node.mode === 'fallback' ? index + 1 : null}
              explained={explained}
              onOpen={onOpen}
            />
          ))}
        </ul>
      )}
    </li>
  );
}

const Strategy = ({ node }: { readonly node: Drawn }) => {
  const { label, icon } = MODES[node.mode ?? ''] ?? { label: node.mode ?? '', icon: 'layers' as const };
  return (
    <span className="routing-title">
      <Icon name={icon} />
      <strong>{node.name ?? label}</strong>
      {node.name && <span className="soft small">{label}</span>}
    </span>
  );
};

function Target({ node, told }: { readonly node: Drawn; readonly told: Explained | null }) {
  const key = told?.virtual_key ?? node.virtualKey;
  const provider = told?.provider ?? node.provider;
  const model = told?.model ?? node.model;
  const whom = key ?? provider ?? 'whom the call names';
  const about = [node.name && whom, key && provider].filter(Boolean).join(' · ');
  return (
    <span className="routing-title">
      <Icon name="plug" />
      <strong className="truncate">{node.name ?? whom}</strong>
      {about && <span className="soft small">{about}</span>}
      {model && <code className="small truncate">{model}</code>}
      {node.weight !== null && <span className="soft small">weight {node.weight}</span>}
    </span>
  );
}

const Turn = ({ told: { when, share, problem } }: { readonly told: Explained }) => {
  if (problem) return <Badge tone="bad">refused</Badge>;
  if (when === 'never') return <span className="soft small">not asked</span>;
  const percent = `${Math.round(share * 1_000) / 10} %`;
  if (when === 'later') return <Badge tone="info">{share < 1 ? `then, ${percent}` : 'then'}</Badge>;
  return (
    <Badge tone="good" dot>
      {share < 1 ? percent : 'asked first'}
    </Badge>
  );
};
