import type { S3Place } from '../files/s3.ts';
import type { ShipmentFormat } from '../telemetry/shipments/shipment.ts';

/** Where entries of the request log are exported to, and how. */
export interface ExportSettings {
  readonly bucket: S3Place;
  readonly format: ShipmentFormat;
  readonly withBodies: boolean;
  readonly everyMs: number;
}
