// A job that is enqueued if and only if the order is. The application writes both in one transaction of its own SQLite
// file; a relay moves the job to the queue. With PostgreSQL it is the same, with a client of `pg` in place of the file.
import { DatabaseSync } from '@photostructure/sqlite' // or node:sqlite, or better-sqlite3
import { openQueue } from 'fairlead'
import { createOutbox, enqueueInTransaction, startRelay } from 'fairlead/outbox'

const db = new DatabaseSync(process.argv[2] ?? './shop.db')
db.exec('CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT)')
createOutbox(db)

function order(item, isInStock) {
  db.exec('BEGIN')
  try {
    const { id } = db.prepare('INSERT INTO orders (item) VALUES (?) RETURNING id').get(item)
    enqueueInTransaction(db, 'receipt', { id, item }, { attempts: 5, tags: ['order'] })
    if (!isInStock) throw new Error(`${item}: out of stock`)
    db.exec('COMMIT')
  } catch (error) {
    db.exec('ROLLBACK')
    console.log(error.message)
  }
}

const queue = await openQueue(process.env.FAIRLEAD_URL ?? ':memory:')
const sent = new Promise((resolve) => {
  queue.work('receipt', async ({ id, item }) => resolve(`receipt for order ${id}, ${item}`))
})
const relay = await startRelay({ from: db, to: queue })

order('a unicorn', false) // no order, no receipt
order('a kettle', true)
console.log(await sent)

await relay.stop()
await queue.close()
db.close()
