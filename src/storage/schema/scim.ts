export interface ScimTables {
  scim_groups: ScimGroupRow;
  scim_group_members: ScimGroupMemberRow;
  scim_mappings: ScimMappingRow;
}

/** A group of a directory. */
export interface ScimGroupRow {
  id: string;
  organisation_id: string;
  display_name: string;
  /** The name in small letters, by which mappings and directories find it. */
  name_key: string;
  external_id: string | null;
  created_at: number;
  updated_at: number;
}

export interface ScimGroupMemberRow {
  group_id: string;
  user_id: string;
}

/** What the members of a group get: a role in a workspace, or one in the organisation. */
export interface ScimMappingRow {
  id: string;
  organisation_id: string;
  group_name: string;
  name_key: string;
  /** Null: the role is one in the organisation. */
  workspace_id: string | null;
  role: string;
  created_at: number;
}
