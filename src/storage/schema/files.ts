export interface FileTables {
  blobs: BlobRow;
  blob_chunks: BlobChunkRow;
  files: FileRow;
  file_segments: FileSegmentRow;
  uploads: UploadRow;
  upload_parts: UploadPartRow;
}

/** One upload of a blob, when blobs are kept in the database. Several may exist for an id, at most one of them whole. */
export interface BlobRow {
  upload: string;
  id: string;
  /** Null until the upload is whole. */
  size: number | null;
  created_at: number;
}

export interface BlobChunkRow {
  upload: string;
  number: number;
  bytes: Uint8Array;
}

export interface FileRow {
  id: string;
  workspace_id: string;
  /** The user who made it, in a session or with a key of theirs; null if no user did. */
  user_id: string | null;
  filename: string;
  purpose: string;
  bytes: number;
  created_at: number;
  expires_at: number | null;
  /** From here on no caller finds it. The row stays for a while, because lists that are being paged know its place. */
  deleted_at: number | null;
}

/** One blob of those that make up a file, in their order. */
export interface FileSegmentRow {
  file_id: string;
  number: number;
  blob: string;
  bytes: number;
}

export interface UploadRow {
  id: string;
  workspace_id: string;
  /** The user who made it, in a session or with a key of theirs; null if no user did. */
  user_id: string | null;
  filename: string;
  purpose: string;
  mime_type: string;
  /** How many the parts must have together. */
  bytes: number;
  /** Null: as long as its purpose lets it. */
  file_lives_seconds: number | null;
  status: 'pending' | 'completed' | 'cancelled' | 'expired';
  /** The file it became. */
  file_id: string | null;
  created_at: number;
  expires_at: number;
}

/** A part whose upload is not completed yet; its blob has its id. Completed, it is a segment of the file. */
export interface UploadPartRow {
  id: string;
  upload_id: string;
  bytes: number;
  created_at: number;
}
