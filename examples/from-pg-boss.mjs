// The quick start of pg-boss, and the same with Fairlead. Run it with both packages installed:
// DATABASE_URL=postgres://user:pass@host/database node from-pg-boss.mjs jobs.db
import { openQueue } from 'fairlead'
import { PgBoss } from 'pg-boss'

async function withPgBoss(url) {
  const boss = new PgBoss(url)
  boss.on('error', console.error)
  await boss.start()
  await boss.createQueue('readme')

  const done = new Promise((resolve) => {
    void boss.work('readme', async ([job]) => resolve(job.data.arg1))
  })
  await boss.send('readme', { arg1: 'read me' })
  console.log(`pg-boss received ${await done}`)

  await boss.stop()
}

async function withFairlead(file) {
  const queue = await openQueue(file)

  queue.work('readme', async (data) => data.arg1)
  const job = await queue.add('readme', { arg1: 'read me' })
  console.log(`Fairlead received ${await job.result()}`)

  await queue.close()
}

await withPgBoss(process.env.DATABASE_URL)
await withFairlead(process.argv[2] ?? './jobs.db')
