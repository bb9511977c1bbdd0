/** Registrations on booking sites: how each site is spoken to, and what people are told. */
export type {
  Adapter,
  BookingAnswer,
  HoldAnswer,
  HttpAnswer,
  HttpCall,
  LookupAnswer,
  Refusal,
  SignupJob,
} from './adapter/adapter.ts'
export { checkProviders } from './providers/check-providers.ts'
export type { Condition, Profile, SuccessDefinition, Unknown } from './providers/profile.ts'
export { type ProviderConfig, type Providers, readProviders } from './providers/providers.ts'
export { ProvidersFile, type ProvidersFileOptions } from './providers/providers-file.ts'
export type { ClockOffset } from './execute/clock-offset.ts'
export {
  type Charge,
  type Fee,
  type SignupEvent,
  type SignupWorker,
  type SignupWorkerOptions,
  signupWorker,
} from './execute/signup-worker.ts'
