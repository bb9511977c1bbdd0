/** How a write fails: nothing of it is stored, a part, all of it but without a sync, or all of it and durably. */
export const LOG_FAULTS = ['full', 'short', 'sync', 'late'] as const
export type LogFault = (typeof LOG_FAULTS)[number]
