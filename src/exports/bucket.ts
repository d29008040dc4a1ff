import { createReadStream } from 'node:fs';
import type { Clock } from '../core/clock.ts';
import { createS3, type S3Place } from '../files/s3.ts';
import { putObject } from '../files/s3-object.ts';
import type { Upstream } from '../http/upstream.ts';
import { EXTENSIONS, type Shipment, type ShipmentFile, type ShipmentFormat } from '../telemetry/shipments/shipment.ts';

/** What readers of the bucket go by: objects that no manifest lists are of shipments that never arrived. */
export interface Manifest {
  readonly shipment: string;
  readonly format: ShipmentFormat;
  readonly entries: number;
  readonly missing: number;
  readonly files: readonly ManifestFile[];
}

interface ManifestFile {
  readonly key: string;
  readonly date: string;
  readonly workspace_id: string | null;
  readonly entries: number;
  readonly bytes: number;
  readonly sha256: string;
}

export interface ExportBucket {
  /** All files, and then the manifest. Again, it writes the same objects. */
  put(shipment: Shipment, format: ShipmentFormat, signal: AbortSignal): Promise<Manifest>;
}

export function openBucket({ place, upstream, now }: { place: S3Place; upstream: Upstream; now: Clock }): ExportBucket {
  const s3 = createS3({ place, upstream, now });
  const folder = place.prefix ? `${place.prefix}/` : '';
  return {
    put: async ({ name, files, missing }, format, signal) => {
      const listed: ManifestFile[] = [];
      for (const file of files) {
        signal.throwIfAborted();
        const key = `${folder}${placeOf(file)}/${name}.${EXTENSIONS[format]}`;
        await putObject(s3, key, createReadStream(file.path));
        const { date, workspaceId, entries, bytes, sha256 } = file;
        listed.push({ key, date, workspace_id: workspaceId, entries, bytes, sha256 });
      }
      const entries = files.reduce((sum, file) => sum + file.entries, 0);
      const manifest: Manifest = { shipment: name, format, entries, missing, files: listed };
      const body = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
      await s3.text({ method: 'PUT', key: `${folder}manifests/${name}.json`, body }, [200]);
      return manifest;
    },
  };
}

const placeOf = ({ date, workspaceId }: ShipmentFile): string => `date=${date}/workspace=${workspaceId ?? 'none'}`;
