// Follows what happens to jobs, also over a lost connection, until one has been completed.
import { connect } from '@fairlead/client'

const client = connect(process.env.FAIRLEAD_URL ?? 'http://127.0.0.1:7433', {
  token: process.env.FAIRLEAD_TOKEN,
})
const events = client.events({
  topics: ['jobAssigned', 'jobRequeued', 'jobCompleted'],
  afterSeq: 0,
})
for await (const event of events) {
  console.log(event.seq, event.type, event.jobId)
  if (event.type === 'jobCompleted') break
}
await client.close()
