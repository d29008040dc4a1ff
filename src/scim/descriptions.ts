import { BASE, GROUP, MOST_ON_PAGE, USER } from './resource.ts';

/** What this server can do (RFC 7643 section 5). */
export const serviceProviderConfig = (publicUrl: string) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: MOST_ON_PAGE },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: false },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'API key',
      description: 'An API key of the gateway with the scope scim.manage, as a bearer token.',
      primary: true,
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${publicUrl}${BASE}/ServiceProviderConfig` },
});

export const resourceTypes = (publicUrl: string) =>
  (
    [
      ['User', USER],
      ['Group', GROUP],
    ] as const
  ).map(([name, schema]) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
    id: name,
    name,
    endpoint: `/${name}s`,
    schema,
    meta: { resourceType: 'ResourceType', location: `${publicUrl}${BASE}/ResourceTypes/${name}` },
  }));

type Kind = 'string' | 'boolean' | 'complex' | 'reference';

const attribute = (name: string, type: Kind, more: Record<string, unknown> = {}) => ({
  name,
  type,
  multiValued: false,
  required: false,
  caseExact: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
  ...more,
});

const NAMES = ['formatted', 'familyName', 'givenName'].map((name) => attribute(name, 'string'));
const VALUES = [attribute('value', 'string'), attribute('type', 'string'), attribute('primary', 'boolean')];
const REFERENCES = ['value', 'display', 'type'].map((name) => attribute(name, 'string', { mutability: 'immutable' }));

/** What is kept of users and groups; other attributes of the standard are taken and not kept. */
export const schemas = (publicUrl: string) =>
  [
    {
      id: USER,
      name: 'User',
      description: 'A user of the gateway.',
      attributes: [
        attribute('userName', 'string', { required: true, uniqueness: 'server' }),
        attribute('externalId', 'string', { caseExact: true }),
        attribute('name', 'complex', { subAttributes: NAMES }),
        attribute('displayName', 'string'),
        attribute('emails', 'complex', { multiValued: true, subAttributes: VALUES }),
        attribute('active', 'boolean'),
        attribute('groups', 'complex', { multiValued: true, mutability: 'readOnly', subAttributes: REFERENCES }),
      ],
    },
    {
      id: GROUP,
      name: 'Group',
      description: 'A group of users, which mappings turn into roles.',
      attributes: [
        attribute('displayName', 'string', { required: true, uniqueness: 'server' }),
        attribute('externalId', 'string', { caseExact: true }),
        attribute('members', 'complex', { multiValued: true, subAttributes: REFERENCES }),
      ],
    },
  ].map((schema) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
    ...schema,
    meta: { resourceType: 'Schema', location: `${publicUrl}${BASE}/Schemas/${schema.id}` },
  }));
