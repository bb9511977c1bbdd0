import { createLimiter, memory } from '@fairlead/limiter'
import { limiterConformance, START } from '@fairlead/limiter/conformance'
import { HttpLimiter } from './http-limiter.ts'
import { Rig } from './rig.ts'

limiterConformance('over HTTP', {
  open: async (limits) => {
    let now = START
    const limiter = createLimiter({ backend: memory({ clock: { now: () => now } }), limits })
    // A server for each trial: its engine remembers what was defined.
    const rig = await Rig.open({ limiter })
    return {
      limiter: new HttpLimiter(rig),
      advance: (ms) => {
        now += ms
      },
      close: () => rig.close(),
    }
  },
})
