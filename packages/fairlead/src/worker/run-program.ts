import { spawn, spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { type Job, PermanentFailure } from '@fairlead/client'

/** As in sysexits.h: EX_DATAERR, the input is wrong; EX_TEMPFAIL, not now. */
const DATA_ERROR = 65
const TEMPORARY = 75
const KILL_AFTER_MS = 5_000
/** More than any server takes as a result. */
const OUTPUT_MAX = 64 * 1024 * 1024

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

/** Runs a program for one job: its payload goes in, what the program writes is the result. */
export function runProgram(command: string, job: Job): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, {
      shell: true,
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, ...environmentOf(job) },
      // A group of its own, so that what it has started ends with it; Ctrl-C is for us alone.
      detached: process.platform !== 'win32',
    })
    const chunks: Buffer[] = []
    let size = 0
    const stop = (): void => endGroup(child.pid)
    job.signal.addEventListener('abort', stop, { once: true })
    if (job.signal.aborted) stop()
    child.on('error', (error) => reject(failure('cannot_start', error.message)))
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= OUTPUT_MAX) chunks.push(chunk)
      else stop()
    })
    // It may have no use for its input.
    child.stdin.on('error', () => {})
    child.stdin.end(inputOf(job))
    child.on('close', (code, signal) => {
      job.signal.removeEventListener('abort', stop)
      if (size > OUTPUT_MAX) reject(failure('output_too_long', `more than ${OUTPUT_MAX} bytes`))
      else if (code === 0) resolve(Buffer.concat(chunks))
      else reject(failureOf(code, signal))
    })
  })
}

/** A prompt or a circuit as it is; what has more to it as JSON. */
export function inputOf(job: Job): Uint8Array | string {
  if (job.kind === 'ai') return job.payload.prompt
  if (job.kind === 'quantum') return job.payload.circuit
  return `${JSON.stringify(job.payload)}\n`
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

function failureOf(code: number | null, signal: NodeJS.Signals | null): Error {
  if (code === DATA_ERROR) return new PermanentFailure('invalid_input', 'exit code 65')
  if (code === TEMPORARY) return failure('temporary', 'exit code 75')
  if (signal !== null) return failure(`signal_${signal.toLowerCase()}`, `killed by ${signal}`)
  return failure(`exit_${code}`, `exit code ${code}`)
}

/** An error whose code is reported as the reason. */
function failure(code: string, message: string): Error {
  return Object.assign(new Error(`the program failed: ${message}`), { code })
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
