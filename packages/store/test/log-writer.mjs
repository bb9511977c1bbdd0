// A process of its own that appends record after record to a log, some at once, and says so for each that is confirmed. Now and
// then it trims. Started by the tests, which kill it. After a last number it closes the log, or leaves it open.
import { writeSync } from 'node:fs'
import { sampleRecord } from '../dist/conformance/sample-records.js'
import { openLogFiles } from '../dist/log-files/open-log.js'

const [path, durability = 'full', last = 'none', end = 'close'] = process.argv.slice(2)
const KEPT = 40
const IN_FLIGHT = 4
const storeId = Uint8Array.from({ length: 16 }, (_, i) => i)
const options = { storeId, createAfter: 0, durability, segmentBytes: 65_536 }
const { log } = await openLogFiles(path, options)

let next = log.end.batch + 1
async function write() {
  while (String(next - 1) !== last) {
    const batch = next++
    await log.append(sampleRecord(batch, (batch * 997) % 5_000))
    // Not buffered: what the parent reads was confirmed.
    writeSync(1, `${batch}\n`)
    if (batch % 16 === 0) await log.trim(Math.max(0, batch - KEPT))
  }
}
await Promise.all(Array.from({ length: IN_FLIGHT }, write))
if (end === 'close') await log.close()
