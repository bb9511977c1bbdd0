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
  'jobNoted',
  'leaseRenewed',
  'leaseCancelled',
  'leaseMoved',
  'providerRegistered',
  'providerStatus',
  'workerConnected',
  'workerLeft',
  'accessRefused',
  'adminActed',
] as const
export type Topic = (typeof TOPICS)[number]
