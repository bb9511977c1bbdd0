import type { WriteBatch } from '@fairlead/core/internal'

/** No changes. */
export const NO_ROWS: WriteBatch = {
  newJobs: [],
  jobs: [],
  newLeases: [],
  leases: [],
  providers: [],
  results: [],
  failures: [],
  shares: [],
  lanes: [],
  rounds: [],
  journal: [],
  meta: {},
  eraseEnded: null,
  pruneEndedBefore: null,
  pruneResultsBefore: null,
  cutJournalAt: null,
}
