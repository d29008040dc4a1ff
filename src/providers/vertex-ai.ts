import { accountProject, googleToken } from './google-token.ts';
import { label, optional, required } from './options.ts';
import type { Provider, ProviderOptions } from './provider.ts';

const region = (options: ProviderOptions) => required('vertex-ai', options, 'vertex_region', label).toLowerCase();

const project = (options: ProviderOptions) =>
  optional(
    { vertex_project_id: options.vertex_project_id ?? accountProject(options) },
    'vertex_project_id',
    projectId,
  ) ?? required('vertex-ai', options, 'vertex_project_id', projectId);

/** Old projects carry their domain: `example.com:project`. */
const projectId = {
  pattern: /^[a-z0-9](?:[a-z0-9.:-]{0,126}[a-z0-9])?$/,
  says: 'takes lower-case letters, digits and inner dashes',
};

export const vertexAi: Provider = {
  name: 'vertex-ai',
  baseUrl: (options, path) => {
    const place = region(options);
    const host = place === 'global' ? 'aiplatform.googleapis.com' : `${place}-aiplatform.googleapis.com`;
    return `https://${host}/${path.startsWith('/v1beta1/') ? 'v1beta1' : 'v1'}`;
  },
  dialect: 'gemini',
  authorize: googleToken,
  options: ['vertex_region', 'vertex_project_id', 'vertex_auth_type', 'vertex_service_account_json'],
  rewrite: (path, options) =>
    /^\/(?:publishers|endpoints)\//.test(path)
      ? `/projects/${project(options)}/locations/${region(options)}${path}`
      : path,
};
