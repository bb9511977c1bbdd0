import { COMPLETE, COMPLETED } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { completeRecord, limitComplete } from '../records/limit.ts'

export const limitsComplete = defineMethod({
  name: 'limits.complete',
  summary: 'Ends a lease on limits, and puts what was used in the place of what was reserved.',
  description:
    'Who knows a lease id may complete it. An unknown or repeated one is `ok` and changes nothing.',
  roles: ['requester', 'provider', 'operator'],
  access: 'write',
  params: limitComplete,
  result: completeRecord,
  errors: [],
  example: { params: COMPLETE, result: COMPLETED },
})
