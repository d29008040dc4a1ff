export interface InstallationTables {
  facts: FactRow;
  versions: VersionRow;
  work: WorkRow;
}

/** Single facts about the installation, such as proof of the encryption key. */
export interface FactRow {
  name: string;
  value: string;
}

/** How often a kind of thing has changed, so that nodes notice what others did. */
export interface VersionRow {
  topic: string;
  version: number;
}

/** Something to be done that outlives the process it was asked of. All times are the database's own. */
export interface WorkRow {
  id: string;
  kind: string;
  /** Between whom the kind's slots are shared: a workspace. */
  tenant: string;
  /** The object this is done for; several rows may have the same. */
  ref: string;
  /** JSON. */
  payload: string | null;
  /** Not before. */
  run_at: number;
  /** The node that does it now. */
  owner: string | null;
  lease_until: number;
  /** Grows with every claim: a former owner is recognised by an older one. */
  fence: number;
  /** How often it was begun since it last got on. */
  attempts: number;
  cancelled_at: number | null;
  last_error: string | null;
  created_at: number;
}
