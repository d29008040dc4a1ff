export interface Template {
  readonly value: string;
  readonly label: string;
  readonly about: string;
  readonly make: (keys: readonly string[]) => Record<string, unknown>;
}

const keyAt = (keys: readonly string[], index: number): string => keys[index] ?? keys[0] ?? 'demo';

/** Ways to begin, filled in with the virtual keys that the workspace has. */
export const TEMPLATES: readonly Template[] = [
  {
    value: 'fallback',
    label: 'Fallback',
    about: 'One provider first, another one when it fails.',
    make: (keys) => ({
      strategy: { mode: 'fallback', on_status_codes: [429, 500, 502, 503, 504] },
      retry: { attempts: 1 },
      targets: [{ virtual_key: keyAt(keys, 0) }, { virtual_key: keyAt(keys, 1) }],
    }),
  },
  {
    value: 'loadbalance',
    label: 'Shares',
    about: 'Calls are spread over providers by weight.',
    make: (keys) => ({
      strategy: { mode: 'loadbalance' },
      targets: [
        { virtual_key: keyAt(keys, 0), weight: 3 },
        { virtual_key: keyAt(keys, 1), weight: 1 },
      ],
    }),
  },
  {
    value: 'conditional',
    label: 'By condition',
    about: 'Metadata or parameters of the call decide.',
    make: (keys) => ({
      strategy: {
        mode: 'conditional',
        conditions: [{ query: { 'metadata.tier': { $eq: 'paid' } }, then: 'paid' }],
        default: 'everyone',
      },
      targets: [
        { name: 'paid', virtual_key: keyAt(keys, 0) },
        { name: 'everyone', virtual_key: keyAt(keys, 1) },
      ],
    }),
  },
  {
    value: 'single',
    label: 'One provider',
    about: 'With retries, a timeout and a cache.',
    make: (keys) => ({
      virtual_key: keyAt(keys, 0),
      retry: { attempts: 2 },
      request_timeout: 60_000,
      cache: { mode: 'simple', max_age: 3_600 },
    }),
  },
];
