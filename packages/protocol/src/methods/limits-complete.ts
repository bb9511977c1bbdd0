import { COMPLETE, COMPLETED } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { completeRecord, limitComplete } from '../records/limit.ts'

export const limitsComplete = defineMethod({
  name: 'limits.complete',
  summary: 'Ends a lease on limits, and puts what was used in the place of what was reserved.',
  description:
    'A lease id belongs to the subject of the token that reserved with it: nobody else can complete it. An unknown or repeated one is `ok` and changes nothing.',
  roles: ['requester', 'provider', 'operator'],
  access: 'write',
  params: limitComplete,
  result: completeRecord,
  errors: [],
  example: { params: COMPLETE, result: COMPLETED },
})
