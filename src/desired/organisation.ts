import type { OrganisationWish } from './desired.ts';
import type { KindOf } from './kind.ts';

const TITLE = 'organisation';

/** What holds in every workspace. No mark is kept of it: a file that no longer names it leaves it as it is. */
export const organisationKind: KindOf<OrganisationWish> = {
  kind: 'organisation',
  scopes: { read: 'organisation.read', create: [], change: ['organisation.manage'], delete: [] },
  wishes: ({ organisation }) => organisation,
  title: () => TITLE,
  shape: ({ fields }) => ({ facts: { ...fields }, secrets: {} }),

  async find({ organisation, who }) {
    const { id, forbidden } = await organisation.read(who);
    return { id, facts: { forbidden }, secrets: {} };
  },

  create: async ({ who }) => who.organisationId,

  async change({ organisation, who }, { fields }) {
    await organisation.update(who, fields);
  },

  titleOf: async () => TITLE,
  blocker: async () => 'it always exists',
  delete: async () => {},
};
