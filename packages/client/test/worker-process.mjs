// Two workers in a process of their own. Each says when it has begun a job, and takes as long as the job says.
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from '@fairlead/client'

const client = connect(process.argv[2])
for (const providerId of ['provider:one', 'provider:two']) {
  client.worker({
    providerId,
    kinds: ['task'],
    concurrency: 1,
    handler: async ({ payload }) => {
      process.stdout.write('begun\n')
      await delay(payload.args.n)
      return 'done'
    },
  })
}
