// A worker in a process of its own that says when it has begun a job, and takes as long as the job says.
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from '@fairlead/client'

connect(process.argv[2]).worker({
  providerId: 'provider:process',
  kinds: ['task'],
  concurrency: 1,
  handler: async ({ payload }) => {
    process.stdout.write('begun\n')
    await delay(payload.args.n)
    return 'done'
  },
})
