import { parentPort, workerData } from 'node:worker_threads'
import { invariant } from '@fairlead/core/internal'
import { LogEnd } from './log-end.ts'
import { openSqliteFile, type SqliteFile } from './sqlite-file.ts'
import {
  type Answer,
  type Call,
  GIVEN_BATCH,
  type GivenBatch,
  OPENED,
  refusalOf,
  type ThreadData,
} from './thread-calls.ts'
import { ThreadGate } from './thread-gate.ts'
import { asUnavailable } from './unavailable.ts'

/**
 * The thread that has the connection. It carries out one call after the other, in the order in which
 * they were made, so that a read sees every commit that was asked for before it. A read that needs many
 * rows in their tables is carried out when they are there, and commits go on meanwhile.
 */
const port = parentPort
invariant(port !== null, 'this file is started as a thread')
const { path, options, pace, gate: gateMemory, logEnd: logMemory } = workerData as ThreadData
const gate = new ThreadGate(gateMemory)
const pass = (act: () => void): void => gate.pass(act)
let file: SqliteFile | null = null
/** While a batch is synced, the calls that came behind it, in their order; null otherwise. */
let behind: (() => void)[] | null = null

port.on('message', (call: Call | GivenBatch) => {
  inTurn(() => {
    if (call === GIVEN_BATCH) pass(takeGiven)
    else if (!isPutOff(call)) carryOut(call)
  })
})

function inTurn(act: () => void): void {
  if (behind === null) act()
  else behind.push(act)
}

function takeGiven(): void {
  try {
    file?.takeGiven()
  } catch {
    // What went wrong is told to the giver, who asks for it.
  }
}

function carryOut({ id, name, args }: Call): void {
  answer(id, () => {
    invariant(file !== null, 'calls are made on an open file')
    return (file[name] as (...given: readonly unknown[]) => unknown).apply(file, [...args])
  })
  if (name === 'close') endThread()
}

function isPutOff(call: Call): boolean {
  if (file === null) return false
  let mustWait = false
  pass(() => {
    // What goes wrong here goes wrong again, and is told, when the call is carried out.
    try {
      mustWait = file !== null && hasToWait(file, call)
    } catch {}
  })
  if (mustWait) file.whenCheckpointed(() => inTurn(() => carryOut(call)))
  return mustWait
}

function hasToWait(open: SqliteFile, { name, args }: Call): boolean {
  if (name === 'checkpoint') return open.checkpointHasToWait()
  return name === 'read' && open.readHasToWait(...(args as Parameters<SqliteFile['read']>))
}

answer(OPENED, () => {
  file = openSqliteFile(path, options, { pass, pace, logEnd: new LogEnd(logMemory) })
})
if (file === null) endThread()

/** Without a port to listen on it ends by itself: to be ended from outside a driver may take ill. */
function endThread(): void {
  port?.close()
}

function answer(id: number, act: () => unknown): void {
  pass(() => {
    try {
      const value = act()
      if (value instanceof Promise) answerLater(id, value)
      else say({ id, value })
    } catch (error) {
      say(refused(id, error))
    }
  })
}

/** Of a batch that is synced while rows are checkpointed: no other call is carried out before it is over. */
function answerLater(id: number, synced: Promise<void>): void {
  behind = []
  const over = (said: Answer): void => {
    say(said)
    const acts = behind ?? []
    behind = null
    for (const act of acts) inTurn(act)
  }
  synced.then(
    () => over({ id }),
    (error) => over(refused(id, error)),
  )
}

function refused(id: number, error: unknown): Answer {
  return { id, refusal: refusalOf(asUnavailable(path, error)) }
}

function say(said: Answer): void {
  port?.postMessage(said)
}
