/** The names of all events, which are the topics that one can subscribe to. */
export const TOPICS = [
  'jobEnqueued',
  'jobAssigned',
  'jobStarted',
  'jobCompleted',
  'jobFailed',
  'jobExpired',
  'jobCanceled',
  'jobRequeued',
  'leaseRenewed',
  'leaseCancelled',
  'leaseMoved',
  'providerRegistered',
  'providerUpdated',
  'providerStaked',
  'providerStatus',
  'workerConnected',
  'workerLeft',
  'accessRefused',
  'policyChanged',
  'limitDefined',
] as const
export type Topic = (typeof TOPICS)[number]
