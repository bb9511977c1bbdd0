/** In the order of the record format, which may only grow at its end. */
export const PROVIDER_STATUSES = [
  'REGISTERED',
  'ACTIVE',
  'JAILED',
  'SUSPENDED',
  'RETIRED',
  'PAUSED',
] as const
export type ProviderStatus = (typeof PROVIDER_STATUSES)[number]
