import { Checkbox } from '../../design/field.tsx';
import { type Scope, useSession } from '../../shell/session.tsx';

/** Only what the user holds can be given on; what a key holds beyond that can be taken from it. */
export function ScopesField({
  chosen,
  held = [],
  error = null,
  onChange,
}: {
  readonly chosen: readonly Scope[];
  /** What the key holds already. */
  readonly held?: readonly Scope[];
  readonly error?: string | null;
  readonly onChange: (scopes: readonly Scope[]) => void;
}) {
  const { scopes } = useSession();
  const all = [...scopes.filter((scope) => scope !== 'sessions.manage'), ...held];
  return (
    <>
      <div className="scope-list">
        {[...new Set(all)].map((scope) => (
          <Checkbox
            key={scope}
            checked={chosen.includes(scope)}
            onChange={(isOn) => onChange(isOn ? [...chosen, scope] : chosen.filter((each) => each !== scope))}
          >
            <code>{scope}</code>
          </Checkbox>
        ))}
      </div>
      {error && (
        <div className="field-error" role="alert">
          {error}
        </div>
      )}
    </>
  );
}
