export interface ViewTables {
  saved_views: SavedViewRow;
}

/** What a page showed, to be opened again. */
export interface SavedViewRow {
  id: string;
  organisation_id: string;
  workspace_id: string;
  /** Whose it is; null: shared by the workspace. */
  user_id: string | null;
  page: string;
  name: string;
  /** JSON: what stands in the address of the page. */
  query: string;
  created_at: number;
  updated_at: number;
}
