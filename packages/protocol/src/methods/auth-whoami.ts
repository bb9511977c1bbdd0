import { z } from 'zod'
import { CALLER } from '../examples.ts'
import { defineMethod, ROLES } from '../method.ts'
import { caller } from '../wire/leaves.ts'

const patterns = z.array(z.string()).nullable().describe('null: all that the role may')

export const authWhoami = defineMethod({
  name: 'auth.whoami',
  summary: 'The caller, by its token, and the rights it has.',
  roles: ['requester', 'provider', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({}),
  result: z.strictObject({
    role: z.enum(ROLES),
    subject: z.string(),
    token_id: z.string(),
    caller: caller.describe('whose jobs are its own'),
    is_open: z
      .boolean()
      .describe('true: the server has no tokens, and everybody on its machine is an admin'),
    scope: z.strictObject({
      kinds: patterns,
      models: patterns.describe('models and task names; a * at the end is any; null: all'),
      platforms: patterns,
      limits: patterns,
      read_only: z.boolean(),
    }),
    methods: z.array(z.string()).describe('those that it may call, in order of name'),
    shows_payloads: z
      .boolean()
      .describe('false: the operator wants no payloads and results on screens'),
    version: z.string().describe('of the server'),
  }),
  errors: [],
  example: {
    params: {},
    result: {
      role: 'auditor',
      subject: 'eve',
      token_id: 'tok-7f3k',
      caller: CALLER,
      is_open: false,
      scope: { kinds: null, models: null, platforms: null, limits: null, read_only: true },
      methods: ['aicf.explainJob', 'aicf.getJob', 'auth.whoami'],
      shows_payloads: true,
      version: '0.1.0',
    },
  },
})
