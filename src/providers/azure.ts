/** Azure wants its version in the query; a client that names one itself is believed. */
export function withApiVersion(pathAndQuery: string, version: string): string {
  if (/[?&]api-version=/.test(pathAndQuery)) return pathAndQuery;
  return `${pathAndQuery}${pathAndQuery.includes('?') ? '&' : '?'}api-version=${version}`;
}

/** What `azure_api_version` may say. `v1` has no version in the query. */
export const apiVersion = {
  pattern: /^(?:v1|preview|latest|\d{4}-\d{2}-\d{2}(?:-preview)?)$/,
  says: 'takes v1, preview, latest or a date such as 2024-10-21',
};
