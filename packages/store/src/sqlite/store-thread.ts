import { parentPort, workerData } from 'node:worker_threads'
import { invariant } from '@fairlead/core'
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

port.on('message', (call: Call | GivenBatch) => {
  if (call === GIVEN_BATCH) pass(takeGiven)
  else if (!isPutOff(call)) carryOut(call)
})

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
  if (mustWait) file.whenCarried(() => carryOut(call))
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
    let said: Answer
    try {
      said = { id, value: act() }
    } catch (error) {
      said = { id, refusal: refusalOf(asUnavailable(path, error)) }
    }
    port?.postMessage(said)
  })
}
