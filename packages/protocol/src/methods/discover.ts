import { z } from 'zod'
import { defineMethod } from '../method.ts'
import { jsonObject } from '../wire/leaves.ts'

export const discover = defineMethod({
  name: 'rpc.discover',
  summary: 'This description of the methods, as an OpenRPC document.',
  roles: ['requester', 'provider', 'operator', 'auditor'],
  access: 'read',
  params: z.strictObject({}),
  result: jsonObject,
  errors: [],
  example: { params: {}, result: { openrpc: '1.3.2' } },
})
