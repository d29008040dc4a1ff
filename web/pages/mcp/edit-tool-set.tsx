import { useState } from 'react';
import { api } from '../../api/client.ts';
import { faultAbout } from '../../api/fault.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { McpToolSet } from '../../api/types.d.ts';
import { IconButton } from '../../design/button.tsx';
import { FormDialog } from '../../design/dialog.tsx';
import { Checkbox, Field, Input, Select } from '../../design/field.tsx';
import { Note } from '../../design/states.tsx';
import { useWorkspace } from '../../shell/session.tsx';
import { SHOWN_AS } from './tool-set.ts';

interface Member {
  readonly server: string;
  readonly tool: string;
  /** What clients call it; empty: as its server does. */
  readonly name: string;
  readonly description: string | null;
}

const MODES = Object.entries(SHOWN_AS).map(([value, label]) => ({ value: value as keyof typeof SHOWN_AS, label }));
const MOST = 500;

const isSame = (one: Pick<Member, 'server' | 'tool'>) => (other: Pick<Member, 'server' | 'tool'>) =>
  one.server === other.server && one.tool === other.tool;

/** Makes or changes a tool set. */
export function EditToolSet({
  set,
  onClose,
  onMade,
}: {
  /** Null: a new one. */
  readonly set: McpToolSet | null;
  readonly onClose: () => void;
  readonly onMade?: (set: McpToolSet) => void;
}) {
  const { id: workspace_id } = useWorkspace();
  const servers = useApi('/v1/mcp-servers', { query: { workspace_id, page_size: MOST } });
  const [name, setName] = useState(set?.name ?? '');
  const [about, setAbout] = useState(set?.description ?? '');
  const [mode, setMode] = useState<keyof typeof SHOWN_AS>(set?.mcp_tools ?? '');
  const [members, setMembers] = useState<readonly Member[]>(set?.tools ?? []);
  const [chosen, setChosen] = useState('');
  const server = chosen || (servers.data?.data[0]?.slug ?? '');
  const save = useAction(
    (): Promise<McpToolSet> => {
      const body = {
        name,
        description: about.trim() || null,
        mcp_tools: mode || null,
        tools: members.map((member) => ({
          server: member.server,
          tool: member.tool,
          ...(member.name.trim() && { name: member.name.trim() }),
          ...(member.description !== null && { description: member.description }),
        })),
      };
      return set
        ? api.put('/v1/mcp-tool-sets/{slug}', { params: { slug: set.slug }, body })
        : api.post('/v1/mcp-tool-sets', { body: { ...body, workspace_id } });
    },
    {
      changes: ['/v1/mcp-tool-sets'],
      done: `The tool set ${name} is ${set ? 'changed' : 'made'}.`,
      onDone: (made) => {
        onMade?.(made);
        onClose();
      },
      onFault: () => {},
    },
  );
  const change = (member: Member, next: Partial<Member>) =>
    setMembers(members.map((each) => (isSame(member)(each) ? { ...each, ...next } : each)));
  return (
    <FormDialog
      title={set ? `Change ${set.name}` : 'Create a tool set'}
      about="Tools of any of your servers, at one address. What is switched off at its server stays off here."
      submit={set ? 'Save' : 'Create the tool set'}
      isOpen
      onClose={onClose}
      isBusy={save.isPending}
      fault={save.error}
      onSubmit={() => save.mutate()}
    >
      <Field label="Name" error={faultAbout(save.error, 'name')}>
        {(control) => (
          <Input
            {...control}
            required
            placeholder="Travel"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field label="About" isOptional error={faultAbout(save.error, 'description')}>
        {(control) => <Input {...control} value={about} onChange={(event) => setAbout(event.target.value)} />}
      </Field>
      <Field label="Clients see" error={faultAbout(save.error, 'mcp_tools')}>
        {(control) => <Select {...control} value={mode} choices={MODES} onChange={setMode} />}
      </Field>
      <fieldset className="stack gap-2 mcp-members">
        <legend className="field-label">Tools ({members.length})</legend>
        {members.length === 0 && <p className="soft small">None yet: choose some below.</p>}
        {members.map((member) => (
          <div key={`${member.server} ${member.tool}`} className="mcp-member-edit">
            <span className="small">
              <code>{member.tool}</code> <span className="soft">of {member.server}</span>
            </span>
            <Input
              aria-label={`What clients call ${member.tool} of ${member.server}`}
              placeholder={member.tool}
              value={member.name === member.tool ? '' : member.name}
              onChange={(event) => change(member, { name: event.target.value })}
            />
            <IconButton
              size="small"
              icon="trash"
              label={`Leave ${member.tool} of ${member.server} out`}
              onClick={() => setMembers(members.filter((each) => !isSame(member)(each)))}
            />
          </div>
        ))}
      </fieldset>
      {servers.data?.data.length === 0 && (
        <Note tone="warn">There is no server yet whose tools could be chosen. Add one first, under Servers.</Note>
      )}
      <Field label="Add tools of">
        {(control) => (
          <Select
            {...control}
            value={server}
            onChange={setChosen}
            choices={(servers.data?.data ?? []).map(({ slug, name: label }) => ({ value: slug, label }))}
          />
        )}
      </Field>
      {server && (
        <Offered
          server={server}
          members={members}
          onAdd={(tool) => setMembers([...members, { server, tool, name: '', description: null }])}
          onRemove={(tool) => setMembers(members.filter((each) => !isSame({ server, tool })(each)))}
        />
      )}
    </FormDialog>
  );
}

/** What a server offers, to choose from. */
function Offered({
  server,
  members,
  onAdd,
  onRemove,
}: {
  readonly server: string;
  readonly members: readonly Member[];
  readonly onAdd: (tool: string) => void;
  readonly onRemove: (tool: string) => void;
}) {
  const offered = useApi('/v1/mcp-servers/{slug}/capabilities', {
    params: { slug: server },
    query: { type: 'tool', page_size: MOST },
  });
  if (offered.data?.data.length === 0)
    return <p className="soft small">Nothing is known of it yet: open the server and test the connection.</p>;
  return (
    <div className="stack gap-1 mcp-offered">
      {offered.data?.data.map(({ name, enabled }) => (
        <Checkbox
          key={name}
          checked={members.some(isSame({ server, tool: name }))}
          onChange={(isOn) => (isOn ? onAdd(name) : onRemove(name))}
        >
          <code>{name}</code>
          {!enabled && <span className="soft"> (switched off)</span>}
        </Checkbox>
      ))}
    </div>
  );
}
