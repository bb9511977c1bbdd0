// A queue in a program: on a file of its own, in memory, or on a server, by what it is given.
import { openQueue, PermanentError } from 'fairlead'

const queue = await openQueue(process.argv[2] ?? ':memory:')

queue.work(
  'email',
  async (data, job) => {
    if (!data.to.includes('@')) throw new PermanentError(`${data.to} is no address`)
    job.progress(50, 'connected')
    return { sentTo: data.to }
  },
  { concurrency: 10 },
)

const job = await queue.add('email', { to: 'ann@example.org' }, { attempts: 5, tags: ['welcome'] })
console.log(await job.result())

const wrong = await queue.add('email', { to: 'nobody' })
await wrong
  .result()
  .catch((error) => console.log(error.message.replace(wrong.id.slice(0, 12), '…')))

await queue.close()
