import * as z from 'zod';
import { pageOf, pageQuery } from '../core/paging.ts';
import { deleted } from '../http/resource.ts';
import { del, get, post, put, type Route } from '../http/route.ts';
import type { Policies } from '../limits/policies/policies.ts';
import {
  policyEntity,
  ratePolicy,
  ratePolicyChange,
  ratePolicyInput,
  usagePolicy,
  usagePolicyChange,
  usagePolicyInput,
} from '../limits/policies/schema.ts';

const listQuery = () => pageQuery().extend({ workspace_id: z.string().min(1).optional() });
const usageQuery = () =>
  z.strictObject({
    include_usage: z.enum(['true', 'false'], { error: 'give true or false' }).optional(),
  });

export const policyRoutes = (policies: Policies): Route[] => [...ratePolicies(policies), ...usagePolicies(policies)];

const ratePolicies = (policies: Policies): Route[] => [
  post(
    '/v1/policies/rate-limits',
    {
      scopes: ['policies.create'],
      audit: { resource: 'policies' },
      summary: 'Limit the rate of every group of callers',
      body: ratePolicyInput,
      response: ratePolicy,
    },
    (call) => policies.create(call.principal, 'rate', call.body),
  ),
  get(
    '/v1/policies/rate-limits',
    {
      scopes: ['policies.list'],
      summary: 'Rate policies the caller may see',
      query: listQuery,
      response: () => pageOf(ratePolicy),
    },
    (call) => policies.list(call.principal, 'rate', call.query),
  ),
  get(
    '/v1/policies/rate-limits/:id',
    { scopes: ['policies.read'], summary: 'One rate policy', response: ratePolicy },
    (call) => policies.read(call.principal, 'rate', call.params.id),
  ),
  put(
    '/v1/policies/rate-limits/:id',
    {
      scopes: ['policies.update'],
      audit: { resource: 'policies' },
      summary: 'Change a rate policy',
      body: ratePolicyChange,
      response: ratePolicy,
    },
    (call) => policies.update(call.principal, 'rate', call.params.id, call.body),
  ),
  del(
    '/v1/policies/rate-limits/:id',
    {
      scopes: ['policies.delete'],
      audit: { resource: 'policies' },
      summary: 'Delete a rate policy',
      response: () => deleted('policy_rate_limits'),
    },
    async (call) => {
      await policies.delete(call.principal, 'rate', call.params.id);
      return { id: call.params.id, object: 'policy_rate_limits', deleted: true };
    },
  ),
];

const usagePolicies = (policies: Policies): Route[] => [
  post(
    '/v1/policies/usage-limits',
    {
      scopes: ['policies.create'],
      audit: { resource: 'policies' },
      summary: 'Give every group of callers a budget',
      body: usagePolicyInput,
      response: usagePolicy,
    },
    (call) => policies.create(call.principal, 'usage', call.body),
  ),
  get(
    '/v1/policies/usage-limits',
    {
      scopes: ['policies.list'],
      summary: 'Usage policies the caller may see',
      query: listQuery,
      response: () => pageOf(usagePolicy),
    },
    (call) => policies.list(call.principal, 'usage', call.query),
  ),
  get(
    '/v1/policies/usage-limits/:id',
    { scopes: ['policies.read'], summary: 'One usage policy', query: usageQuery, response: usagePolicy },
    (call) =>
      call.query.include_usage === 'true'
        ? policies.readWithUsage(call.principal, call.params.id)
        : policies.read(call.principal, 'usage', call.params.id),
  ),
  put(
    '/v1/policies/usage-limits/:id',
    {
      scopes: ['policies.update'],
      audit: { resource: 'policies' },
      summary: 'Change a usage policy',
      body: usagePolicyChange,
      response: usagePolicy,
    },
    (call) => policies.update(call.principal, 'usage', call.params.id, call.body),
  ),
  del(
    '/v1/policies/usage-limits/:id',
    {
      scopes: ['policies.delete'],
      audit: { resource: 'policies' },
      summary: 'Delete a usage policy',
      response: () => deleted('policy_usage_limits'),
    },
    async (call) => {
      await policies.delete(call.principal, 'usage', call.params.id);
      return { id: call.params.id, object: 'policy_usage_limits', deleted: true };
    },
  ),
  get(
    '/v1/policies/usage-limits/:id/entities',
    {
      scopes: ['policies.read'],
      summary: 'What each group of callers has spent',
      query: pageQuery,
      response: () => pageOf(policyEntity),
    },
    (call) => policies.entities(call.principal, call.params.id, call.query),
  ),
  put(
    '/v1/policies/usage-limits/:id/entities/:entity/reset',
    {
      scopes: ['policies.update'],
      audit: { resource: 'policies', action: 'reset' },
      summary: 'Start the budget of one group again',
      response: policyEntity,
    },
    (call) => policies.resetEntity(call.principal, call.params.id, call.params.entity),
  ),
];
