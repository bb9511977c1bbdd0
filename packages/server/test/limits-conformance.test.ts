import type { Limiter } from '@fairlead/core'
import { createLimiter, memory } from '@fairlead/limiter'
import { limiterConformance, START } from '@fairlead/limiter/conformance'
import { afterAll, beforeAll } from 'vitest'
import { HttpLimiter } from './http-limiter.ts'
import { Rig } from './rig.ts'

/** Whatever the trial of the moment has; the server keeps one limiter for its whole life. */
let current: Limiter
let rig: Rig
beforeAll(async () => {
  const limiter: Limiter = {
    define: (limit) => current.define(limit),
    list: () => current.list(),
    get: (key) => current.get(key),
    reserve: (request) => current.reserve(request),
    complete: (request) => current.complete(request),
    reserveMany: (requests) => current.reserveMany(requests),
    completeMany: (requests) => current.completeMany(requests),
    close: async () => {},
  }
  rig = await Rig.open({ limiter })
})
afterAll(() => rig.close())

limiterConformance('over HTTP', {
  open: async (limits) => {
    let now = START
    current = createLimiter({ backend: memory({ clock: { now: () => now } }), limits })
    return {
      limiter: new HttpLimiter(rig),
      advance: (ms) => {
        now += ms
      },
      close: async () => {},
    }
  },
})
