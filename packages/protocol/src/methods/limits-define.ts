import { z } from 'zod'
import { LIMIT, LIMIT_RECORD } from '../examples.ts'
import { defineMethod } from '../method.ts'
import { limitDefinition, limitRecord } from '../records/limit.ts'

export const limitsDefine = defineMethod({
  name: 'limits.define',
  summary: 'Defines a limit, or changes one.',
  description:
    'A higher capacity acts at once. A lower one waits, as `decreasing`, until no more is held than it allows; meanwhile nothing is reserved on the key. The kind of a key never changes. A key that contains `{caller}` is a pattern: each caller has a limit of its own by it, from its first reserve on.',
  roles: ['operator'],
  access: 'write',
  params: z.strictObject({ limit: limitDefinition }),
  result: z.strictObject({ limit: limitRecord }),
  errors: [],
  example: { params: { limit: LIMIT }, result: { limit: LIMIT_RECORD } },
})
