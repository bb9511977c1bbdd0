import { isUtf8 } from 'node:buffer'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import type { Socket } from 'node:net'
import { AttemptFailure, Completion, type Job, KEY_VARIABLE } from '@fairlead/client'
import { encodeCbor } from '@fairlead/core'
import { LastLines } from './last-lines.ts'
import { SpokenLines } from './spoken-lines.ts'

/** As in sysexits.h: EX_DATAERR, the input is wrong; EX_TEMPFAIL, not now. */
const DATA_ERROR = 65
const TEMPORARY = 75
const KILL_AFTER_MS = 5_000
/** More than any server takes as a result. */
const OUTPUT_MAX = 64 * 1024 * 1024
/** A program that a job has left behind may keep standard error open; the job is not held up by it. */
const LAST_WORDS_MS = 500

/**
 * Whether the shell finds the program of a command. A name that is mistyped is better told at once than by
 * every job that fails. Where a command begins with more than a name, only the shell can tell.
 */
export function isThere(command: string): boolean {
  const [name = ''] = command.trim().split(/\s/, 1)
  if (process.platform === 'win32' || !/^[\w./][\w./+-]*$/.test(name)) return true
  if (name.includes('/')) return isExecutable(name)
  return spawnSync('sh', ['-c', 'command -v "$1"', 'sh', name], { stdio: 'ignore' }).status === 0
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Runs a program for one job: its payload goes in, the result is what the program writes. */
export async function runProgram(
  command: string,
  job: Job,
  tell: (line: string) => void,
  more: Readonly<Record<string, string>> = {},
): Promise<Completion> {
  const child = spawn(command, {
    shell: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...ownEnvironment(), ...environmentOf(job), ...more },
    // A group of its own, so that what it has started ends with it; Ctrl-C is for us alone.
    detached: process.platform !== 'win32',
  })
  const chunks: Buffer[] = []
  let size = 0
  const stop = (): void => endGroup(child.pid)
  job.signal.addEventListener('abort', stop, { once: true })
  if (job.signal.aborted) stop()
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= OUTPUT_MAX) chunks.push(chunk)
    else stop()
  })
  const lastLines = new LastLines()
  const spoken = new SpokenLines(tell)
  const hear = (chunk: Buffer): void => {
    lastLines.add(chunk)
    spoken.add(chunk)
  }
  child.stderr.on('data', hear)
  // It may have no use for its input.
  child.stdin.on('error', () => {})
  child.stdin.end(inputOf(job))
  try {
    const { code, signal } = await ended(child)
    if (size > OUTPUT_MAX) throw failure('output_too_long', `more than ${OUTPUT_MAX} bytes`)
    if (code === 0) return completionOf(Buffer.concat(chunks))
    throw failureOf(code, signal, lastLines.text())
  } finally {
    job.signal.removeEventListener('abort', stop)
    child.stderr.off('data', hear)
    spoken.end()
  }
}

/** Details of a program's failure: one of the two. */
export interface ProgramDetails {
  readonly exit_code: number
  readonly signal: NodeJS.Signals
}

interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** It has exited, and all that it wrote is here. */
function ended(child: ChildProcess): Promise<Ended> {
  return new Promise((resolve, reject) => {
    let exit: Ended | null = null
    let isWritten = false
    let timer: NodeJS.Timeout | undefined
    const waitForLastWords = (): void => {
      if (exit === null || !isWritten) return
      const result = exit
      timer = setTimeout(() => {
        // Nor is this process, when it wants to end.
        ;(child.stderr as Socket | null)?.unref()
        resolve(result)
      }, LAST_WORDS_MS)
    }
    child.on('error', (error) => reject(failure('cannot_start', error.message)))
    child.on('exit', (code, signal) => {
      exit = { code, signal }
      waitForLastWords()
    })
    child.stdout?.on('end', () => {
      isWritten = true
      waitForLastWords()
    })
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      resolve({ code, signal })
    })
  })
}

/** Text, unless it cannot be. */
function completionOf(output: Buffer): Completion {
  const contentType = isUtf8(output) ? 'text/plain' : 'application/octet-stream'
  return new Completion({ value: output, contentType })
}

/** A prompt or a circuit as it is; what has more to it as JSON. */
export function inputOf(job: Job): Uint8Array | string {
  if (job.kind === 'ai') return job.payload.prompt
  if (job.kind === 'quantum') return job.payload.circuit
  return `${JSON.stringify(job.payload)}\n`
}

/** The secret of a provider is not for the programs that it runs. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const { [KEY_VARIABLE]: _secret, ...env } = process.env
  return env
}

function environmentOf(job: Job): Record<string, string> {
  const bytes = (_: string, value: unknown): unknown =>
    value instanceof Uint8Array ? `0x${Buffer.from(value).toString('hex')}` : value
  return {
    FAIRLEAD_TASK_ID: job.jobId,
    FAIRLEAD_LEASE_ID: job.leaseId,
    FAIRLEAD_ATTEMPT: String(job.attempt),
    FAIRLEAD_KIND: job.kind,
    FAIRLEAD_MODEL: job.model ?? '',
    ...(job.traceparent === null ? {} : { TRACEPARENT: job.traceparent }),
    // Longer ones do not fit into an environment; they are on standard input in any case.
    ...smallEnough('FAIRLEAD_PAYLOAD', JSON.stringify(job.payload, bytes)),
  }
}

const VARIABLE_MAX = 100_000

function smallEnough(name: string, value: string): Record<string, string> {
  return value.length <= VARIABLE_MAX ? { [name]: value } : {}
}

function failureOf(code: number | null, signal: NodeJS.Signals | null, said: string): Error {
  const how = signal === null ? `exit code ${code}` : `killed by ${signal}`
  const details = encodeCbor(signal === null ? { exit_code: code } : { signal })
  const message = said === '' ? `the program failed: ${how}` : said
  const known = code === DATA_ERROR ? 'invalid_input' : code === TEMPORARY ? 'temporary' : 'exit'
  return new AttemptFailure({ code: known, permanent: code === DATA_ERROR, message, details })
}

function failure(code: string, message: string): Error {
  return new AttemptFailure({ code, permanent: false, message: `the program failed: ${message}` })
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return
  const kill = (signal: NodeJS.Signals): void => {
    try {
      process.kill(process.platform === 'win32' ? pid : -pid, signal)
    } catch {
      // It has ended by itself.
    }
  }
  kill('SIGTERM')
  setTimeout(() => kill('SIGKILL'), KILL_AFTER_MS).unref()
}
