// Kills a process with an engine and workers under load, again and again, and checks from outside that
// it kept all its promises. The test and `npm run crash` share it.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { brokenSeq, callerOf, hasEnded, taggedHashHex } from '@fairlead/core'
import { SeededDice } from '@fairlead/core/internal'
import { catchUp } from '@fairlead/engine'
import { openSqliteStore } from '@fairlead/store/sqlite'

/** A process lives this long after its first answer, at most. */
const LIFE_MS = 900
/** What is left after the last kill has to be done by then. */
const DRAIN_MS = 120_000
const PAGE = 1_000

export async function runCrashes({ kills, seed, onKill = () => {} }) {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-crash-'))
  const file = join(folder, 'fairlead.db')
  const dice = new SeededDice(taggedHashHex('fairlead|crash', seed))
  const seen = { enqueued: new Map(), completed: new Map(), recoveryMs: [], replayed: 0 }
  for (let n = 1; n <= kills; n++) {
    const lifeMs = dice.draw(LIFE_MS)
    // Half of them die with nearly all of it in the log alone, the others with most of it in the tables.
    const haste = dice.draw(2) === 0 ? 'hurry' : 'wait'
    await live({ file, seen, mode: 'load', haste, lifeMs })
    const { enqueued, completed, recoveryMs } = seen
    const recovery_ms = Math.round(recoveryMs.at(-1) ?? Number.NaN)
    const counts = { jobs: enqueued.size, completed: completed.size }
    onKill({ kill: n, life_ms: lifeMs, recovery_ms, ...counts })
  }
  const drained = await live({ file, seen, mode: 'drain', lifeMs: DRAIN_MS })
  const { replayed } = seen
  const report = { kills, seed, drained, replayed, ...(await inspect(file, seen)) }
  rmSync(folder, { recursive: true })
  return report
}

/** One process to its end: killed some time after its first answer, or true if it ended by itself. */
async function live({ file, seen, mode, haste = 'wait', lifeMs }) {
  const started = performance.now()
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'crash-child.mjs'), file, String(seen.enqueued.size), mode, haste],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const exit = new Promise((resolve) => child.once('exit', resolve))
  const kill = () => child.kill('SIGKILL')
  let timer = mode === 'drain' ? setTimeout(kill, lifeMs) : null
  for await (const line of createInterface({ input: child.stdout })) {
    const [type, first, jobId] = line.split(' ')
    if (type === 'R') {
      seen.replayed += Number(first)
      continue
    }
    if (timer === null) {
      seen.recoveryMs.push(performance.now() - started)
      timer = setTimeout(kill, lifeMs)
    }
    if (type === 'E') seen.enqueued.set(first, jobId)
    else seen.completed.set(first, (seen.completed.get(first) ?? 0) + 1)
  }
  clearTimeout(timer)
  await exit
  if (child.signalCode === null && child.exitCode !== 0) {
    throw new Error(`the process ended by itself with code ${child.exitCode}`)
  }
  return child.signalCode === null
}

/** What the store says, against what was answered to a caller. */
export async function inspect(file, { enqueued, completed, recoveryMs }, subject = 'crash') {
  const store = await openSqliteStore(file)
  // If the last process did not end by itself, the log has more than the tables.
  await catchUp(store)
  const { read } = store
  const caller = callerOf(subject)
  let lost = 0
  for (const jobId of enqueued.values()) {
    const row = await read.job(jobId)
    // A key that was answered finds its job again.
    const [found] = row === null ? [null] : await read.jobsByTx([{ caller, txHash: row.txHash }])
    if (found?.id !== jobId) lost++
  }
  let undone = 0
  for (const jobId of completed.keys()) {
    const { output } = (await read.result(jobId)) ?? { output: null }
    const isRight = output !== null && String(Buffer.from(output)) === jobId
    if ((await read.job(jobId))?.status !== 'COMPLETED' || !isRight) undone++
  }
  const journal = await all((after) => read.journal(after, PAGE))
  const ends = new Map()
  for (const { action, subject } of journal) {
    if (action === 'jobCompleted') ends.set(subject, (ends.get(subject) ?? 0) + 1)
  }
  const twice = [...ends, ...completed].filter(([, times]) => times > 1)
  const jobs = await all((afterSeq) => read.jobs({ afterSeq, limit: PAGE }))
  await store.close()
  const sorted = recoveryMs.toSorted((a, b) => a - b).map(Math.round)
  return {
    jobs: jobs.length,
    answered: { enqueues: enqueued.size, completions: completed.size },
    jobs_lost: lost,
    completions_undone: undone,
    duplicates: new Set(twice.map(([jobId]) => jobId)).size,
    jobs_left: jobs.filter(({ status }) => !hasEnded(status)).length,
    charged: jobs.filter(({ retries }) => retries > 0).length,
    given_back: journal.filter(({ details }) => details.reason === 'worker_lost').length,
    moved: journal.filter(({ action }) => action === 'leaseMoved').length,
    audit_broken_at: brokenSeq(journal),
    recovery_ms: { median: sorted[sorted.length >> 1] ?? null, worst: sorted.at(-1) ?? null },
  }
}

/** All rows of a list that comes in pages, by their numbers. */
async function all(pageAfter) {
  const rows = []
  for (let page = await pageAfter(0); page.length > 0; page = await pageAfter(rows.at(-1).seq)) {
    rows.push(...page)
  }
  return rows
}

/** Whether every promise was kept. */
export function isSound(report) {
  const { jobs_lost, completions_undone, duplicates, jobs_left, drained } = report
  const broken = jobs_lost + completions_undone + duplicates + jobs_left
  return broken === 0 && drained && report.audit_broken_at === null
}
