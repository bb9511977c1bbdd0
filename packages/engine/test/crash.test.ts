import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { brokenSeq, callerOf, type JobId } from '@fairlead/core'
import { openEngine } from '@fairlead/engine'
import { openSqliteStore } from '@fairlead/store/sqlite'
import { expect, it } from 'vitest'

const KILLS = Number(process.env['FAIRLEAD_KILLS'] ?? 10)
/** After this many answers the next one is the last: somewhere in the middle of the load. */
const ANSWERS = [1, 40, 7, 333, 120, 16, 64, 900, 3, 250]

interface Seen {
  readonly enqueued: Map<string, string>
  readonly completed: Map<string, number>
  readonly recoveryMs: number[]
}

/** Runs the child until it has had so many answers, and kills it without a word of warning. */
async function runAndKill(file: string, answers: number, seen: Seen): Promise<void> {
  const started = performance.now()
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'crash-child.mjs'), file, String(seen.enqueued.size)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  let heard = 0
  for await (const line of createInterface({ input: child.stdout })) {
    if (heard === 0) seen.recoveryMs.push(performance.now() - started)
    const [type, first = '', jobId = ''] = line.split(' ')
    if (type === 'E') seen.enqueued.set(first, jobId)
    else seen.completed.set(first, (seen.completed.get(first) ?? 0) + 1)
    if (++heard === answers) child.kill('SIGKILL')
  }
}

it(`ENGINE-2: killed ${KILLS} times under load it loses nothing that was answered`, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-crash-'))
  const file = join(folder, 'fairlead.db')
  const seen: Seen = { enqueued: new Map(), completed: new Map(), recoveryMs: [] }
  for (let i = 0; i < KILLS; i++) {
    await runAndKill(file, ANSWERS[i % ANSWERS.length] as number, seen)
  }

  const store = await openSqliteStore(file)
  const { read } = store
  let lost = 0
  for (const [key, jobId] of seen.enqueued) {
    const row = read.job(jobId as JobId)
    if (row === null) lost++
    // A key that was answered finds its job again, and makes no second one.
    expect(read.jobByTx(callerOf('crash'), row?.txHash ?? '')?.id, key).toBe(jobId)
  }
  let duplicates = 0
  for (const [jobId, times] of seen.completed) {
    if (times > 1) duplicates++
    expect(read.job(jobId as JobId)?.status, jobId).toBe('COMPLETED')
    expect(String(Buffer.from(read.result(jobId as JobId)?.output ?? [])), jobId).toBe(jobId)
    const ends = read.timeline(jobId as JobId).filter(({ action }) => action === 'jobCompleted')
    expect(ends, jobId).toHaveLength(1)
  }
  const journal = []
  for (let rows = read.journal(0, 1_000); rows.length > 0; ) {
    journal.push(...rows)
    rows = read.journal(journal.length, 1_000)
  }
  expect(brokenSeq(journal)).toBeNull()
  expect({ lost, duplicates }).toEqual({ lost: 0, duplicates: 0 })
  expect(seen.completed.size).toBeGreaterThan(KILLS)

  // And it goes on by itself with what was left open.
  const engine = await openEngine({ store })
  await engine.enqueue(
    { kind: 'task', payload: { name: 'echo', args: {} } },
    { caller: callerOf('x') },
  )
  await engine.close()
  rmSync(folder, { recursive: true })
  const worst = Math.round(Math.max(...seen.recoveryMs))
  console.log(
    `kills ${KILLS}, jobs ${seen.enqueued.size}, jobs_lost ${lost}, duplicates ${duplicates}, recovery_ms at most ${worst}`,
  )
}, 120_000)
