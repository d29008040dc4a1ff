import { error } from './entry.ts';

const MOST_FAULTS = 20;

const shownFaults = (faults: readonly string[]): string =>
  faults.slice(0, MOST_FAULTS).join('; ') +
  (faults.length > MOST_FAULTS ? `; and ${faults.length - MOST_FAULTS} more.` : '.');

/** What an organisation and its workspaces have set up. */
export const resourceErrors = {
  deleted_meanwhile: error(404, () => 'What this request belongs to was deleted while the request was handled.'),
  apply_refused: error(
    400,
    (faults: readonly string[]) =>
      `Nothing was changed, because the file has ${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}: ${shownFaults(faults)}`,
    () => 'file',
  ),
  apply_outdated: error(
    400,
    () => 'The database has changed since the difference was shown. Nothing was done; run it again.',
    () => 'agreement',
  ),
  workspace_not_found: error(404, (id: string) => `No workspace ${id} in this organisation.`),
  workspace_in_use: error(400, (slug: string, what: string) => `Workspace ${slug} cannot be deleted: ${what}.`),
  deletion_not_found: error(404, (name: string) => `No workspace ${name} was deleted from this organisation.`),
  erasure_not_found: error(
    404,
    (name: string) => `No erasure ${name}, and no user ${name} who was erased, in this organisation.`,
  ),
  call_not_found: error(404, (id: string) => `No call ${id} of this key is under way.`),
  api_key_not_found: error(404, (id: string) => `No API key ${id} in this workspace.`),
  user_not_found: error(404, (id: string) => `No user ${id} in this organisation.`),
  group_not_found: error(404, (id: string) => `No group ${id} in this organisation.`),
  scim_unknown: error(404, (kind: string, name: string) => `There is no ${kind} ${name} here.`),
  scim_mapping_not_found: error(404, (id: string) => `No mapping ${id} in this organisation.`),
  scim_mapping_exists: error(
    400,
    (group: string, place: string) => `The group ${group} has a role in ${place} already. Delete that mapping first.`,
    () => 'group',
  ),
  /** 409, as directories expect it (RFC 7644 section 3.3): they look for the other one then, and do not repeat the call. */
  scim_uniqueness: error(
    409,
    (attribute: string, value: string) => `${attribute} "${value.slice(0, 80)}" belongs to another one already.`,
  ),
  scim_filter: error(
    400,
    (why: string, known: string) =>
      `The filter cannot be used: ${why}. Write attribute eq "value", several with and between them; attributes are ${known}.`,
    () => 'filter',
  ),
  scim_path: error(
    400,
    (path: string, why: string) => `The path "${path.slice(0, 120)}" of an operation ${why}.`,
    () => 'Operations',
  ),
  email_taken: error(
    400,
    (email: string) => `There is already a user ${email} in this organisation.`,
    () => 'email',
  ),
  last_owner: error(
    400,
    (id: string) => `User ${id} is the last owner of the organisation. Make another user an owner first.`,
  ),
  member_not_found: error(
    404,
    (user: string, workspace: string) => `User ${user} is not a member of workspace ${workspace}.`,
  ),
  already_a_member: error(
    400,
    (user: string, workspace: string) =>
      `User ${user} is a member of workspace ${workspace} already; PUT changes the role.`,
    () => 'user_id',
  ),
  session_not_found: error(404, (id: string) => `No session ${id} of yours.`),
  invite_not_found: error(404, (id: string) => `No invite ${id} in this organisation.`),
  invite_not_open: error(
    400,
    (status: string) => `This invite is ${status}; only a pending one can be accepted, sent again or cancelled.`,
  ),
  owner_link_ended: error(
    404,
    () =>
      'This link was used, is older than 15 minutes, or there is an owner already. While there is none, every start of the gateway prints a new one.',
  ),
  oidc_not_configured: error(
    404,
    () => 'No identity provider is set up here. The operator sets GATEWAY_OIDC_ISSUER and GATEWAY_OIDC_CLIENT_ID.',
  ),
  machine_tokens_not_configured: error(
    404,
    () => 'No tokens of machines are accepted here yet. PUT sets up whose are.',
  ),
  rotation_in_progress: error(
    400,
    (id: string, until: string) =>
      `API key ${id} is being rotated; the old secret is valid until ${until}. Rotate again after that.`,
  ),
  guardrail_not_found: error(404, (id: string) => `No guardrail ${id} in this workspace or its organisation.`),
  guardrail_in_use: error(
    400,
    (slug: string, where: string) =>
      `Guardrail ${slug} cannot be deleted: it is named by ${where}. Take it out there first.`,
  ),
  webhook_not_found: error(404, (id: string) => `No webhook ${id} in this workspace.`),
  too_many_webhooks: error(
    400,
    (most: number) => `This workspace has ${most} webhooks, and may have no more. Delete one that is not needed.`,
  ),
  alert_not_found: error(404, (id: string) => `No alert ${id} in this workspace.`),
  alert_channel_not_found: error(404, (id: string) => `No alert channel ${id} in this workspace.`),
  too_many_alerts: error(
    400,
    (what: string, most: number) =>
      `There are ${most} ${what} here, and may be no more. Delete one that is not needed.`,
  ),
  alert_channel_in_use: error(
    400,
    (name: string, rules: string) =>
      `Alert channel ${name} cannot be deleted: it is told by ${rules}. Take it out there first.`,
  ),
  view_not_found: error(404, (id: string) => `No saved view ${id} of yours or shared in this workspace.`),
  too_many_views: error(
    400,
    (whose: string, most: number) =>
      `There are ${most} saved views ${whose} in this workspace, and may be no more. Delete one that is not needed.`,
  ),
  config_not_found: error(404, (slug: string) => `No config ${slug} in this workspace.`),
  virtual_key_not_found: error(404, (slug: string) => `No virtual key ${slug} in this workspace.`),
  virtual_key_fixed: error(
    400,
    (slug: string, variable: string) =>
      `Virtual key ${slug} comes from the environment variable ${variable} and is changed there.`,
  ),
  secret_reference_not_found: error(
    404,
    (id: string) => `No secret reference ${id}; virtual keys say themselves where their secrets lie.`,
  ),
  integration_not_found: error(404, (name: string) => `No integration ${name} that this key may see.`),
  virtual_key_linked: error(
    400,
    (slug: string, links: readonly string[]) =>
      `Virtual key ${slug} is used by others: ${links.join(', ')}. Delete those first, or close the integration to their workspaces.`,
  ),
  ambiguous_slug: error(
    400,
    (slug: string) => `Several workspaces have a ${slug}. Say which one is meant: ?workspace_id=`,
    () => 'workspace_id',
  ),
  slug_taken: error(
    400,
    (slug: string) => `The slug "${slug}" is taken. Choose another, or leave slug out to have one made.`,
    () => 'slug',
  ),
  policy_not_found: error(404, (id: string) => `No policy ${id} of this kind in this workspace.`),
  policy_entity_not_found: error(
    404,
    (id: string, policy: string) => `Policy ${policy} has counted no entity ${id}. GET its entities lists them.`,
  ),
  feedback_not_found: error(404, (id: string) => `No feedback ${id} in this workspace.`),
  feedback_needs_workspace_key: error(
    403,
    () =>
      'Feedback belongs to one workspace, and this key acts on all of the organisation. Send the key of a workspace, one without organisation.manage.',
  ),
  log_session_not_found: error(404, (id: string) => `No session ${id.slice(0, 80)} in the log of this workspace.`),
  log_not_found: error(404, (id: string) => `No log entry ${id} in this workspace.`),
};
