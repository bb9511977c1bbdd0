// Kills a server under load with SIGKILL, again and again, while its workers and requesters live on in
// other processes; and checks from outside that it kept all its promises. The test and `npm run crash --
// --wire` share it.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { connect } from '@fairlead/client'
import { taggedHashHex } from '@fairlead/core'
import { SeededDice } from '@fairlead/core/internal'
import { inspect } from '../../engine/test/crash-run.mjs'

/** A server lives this long after its first answer, at most. */
const LIFE_MS = 900
/** What is left after the last kill has to be done by then. */
const DRAIN_MS = 120_000
const WORKERS = 2
const CLI = join(import.meta.dirname, '..', 'bin', 'fairlead.mjs')

export async function runWireCrashes({ kills, seed, onKill = () => {} }) {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-wire-crash-'))
  const file = join(folder, 'fairlead.db')
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const dice = new SeededDice(taggedHashHex('fairlead|wire crash', seed))
  const seen = { enqueued: new Map(), completed: new Map(), recoveryMs: [], resumed: 0 }
  const listeners = new Set()
  const note = (line) => {
    const [type, first, jobId] = line.split(' ')
    if (type === 'E') seen.enqueued.set(first, jobId)
    else if (type === 'C') seen.completed.set(first, (seen.completed.get(first) ?? 0) + 1)
    else if (type === 'R') seen.resumed++
    for (const listener of listeners) listener(type)
  }
  /** Resolves with the next answer that anybody gets, or the next of a sort. */
  const nextAnswer = (wanted = null) =>
    new Promise((resolve) => {
      const listener = (type) => {
        if (wanted !== null && type !== wanted) return
        listeners.delete(listener)
        resolve()
      }
      listeners.add(listener)
    })

  const peers = [
    ...Array.from({ length: WORKERS }, (_, n) =>
      start('wire-crash-worker.mjs', [url, `w-${n}`], note),
    ),
    start('wire-crash-load.mjs', [url], note),
  ]
  const load = peers.at(-1)
  let server = null
  try {
    for (let n = 1; n <= kills; n++) {
      const lifeMs = dice.draw(LIFE_MS)
      const started = performance.now()
      server = serve(file, port)
      const ended = server.exit.then(failed)
      const working = nextAnswer('C')
      await Promise.race([nextAnswer(), ended])
      seen.recoveryMs.push(performance.now() - started)
      // Until its workers are back there is nothing to lose.
      await Promise.race([working, ended])
      await new Promise((resolve) => setTimeout(resolve, lifeMs))
      server.child.kill('SIGKILL')
      await server.exit
      const counts = { jobs: seen.enqueued.size, completed: seen.completed.size }
      onKill({
        kill: n,
        life_ms: lifeMs,
        recovery_ms: Math.round(seen.recoveryMs.at(-1)),
        ...counts,
      })
    }
    server = serve(file, port)
    load.child.stdin.end()
    await load.exit
    const drained = await drain(url, AbortSignal.timeout(DRAIN_MS))
    for (const { child } of peers) child.kill('SIGTERM')
    await Promise.all(peers.map(({ exit }) => exit))
    server.child.kill('SIGTERM')
    await server.exit
    const report = await inspect(file, seen, 'local')
    return { kills, seed, drained, resumed: seen.resumed, ...report }
  } finally {
    for (const { child } of [...peers, ...(server === null ? [] : [server])]) child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

function serve(file, port) {
  const args = ['serve', '--store', file, '--port', String(port), '--log-level', 'silent']
  return started(spawn(process.execPath, [CLI, ...args], { stdio: ['ignore', 'ignore', 'pipe'] }))
}

function start(program, args, note) {
  const child = spawn(process.execPath, [join(import.meta.dirname, program), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  createInterface({ input: child.stdout }).on('line', note)
  return started(child)
}

function started(child) {
  let said = ''
  child.stderr?.on('data', (text) => {
    said += text
  })
  const exit = new Promise((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal, said }))
  })
  return { child, exit }
}

function failed({ code, signal, said }) {
  if (signal === null) throw new Error(`the server ended by itself with code ${code}: ${said}`)
}

/** Until nothing waits and nothing runs any more; false if that takes too long. */
async function drain(url, signal) {
  const client = connect(url)
  const events = client.events({ topics: ['jobCompleted'], signal })
  const isDone = async () => {
    const { queues, leases } = await client.call('stats.get', {})
    return (
      leases === 0 &&
      queues.every(({ ready, backoff, no_provider }) => ready + backoff + no_provider === 0)
    )
  }
  try {
    await events.ready()
    if (await isDone()) return true
    for await (const _ of events) if (await isDone()) return true
    return false
  } finally {
    await client.close()
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}
