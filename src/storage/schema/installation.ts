export interface InstallationTables {
  facts: FactRow;
  versions: VersionRow;
  work: WorkRow;
  endings: EndingRow;
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

/** A workspace that is deleted, or a person who is forgotten. The row stays as the report. */
export interface EndingRow {
  id: string;
  organisation_id: string;
  subject: 'workspace' | 'user';
  /** Of the workspace or the user, who is gone by now. */
  subject_id: string;
  /** The slug of a workspace. Of a person nothing is kept but the id. */
  name: string | null;
  status: 'running' | 'completed';
  /** JSON: rows removed so far, by area. */
  removed: string;
  /** JSON: what ran at providers, and whether they were told to stop. */
  abroad: string;
  /** Sealed JSON of what is needed until all is removed. Null from then on. */
  sealed: string | null;
  created_at: number;
  updated_at: number;
  completed_at: number | null;
}
