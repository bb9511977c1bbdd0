import {
  AttemptFailure,
  type Completion,
  FairleadError,
  type Job,
  type NodeClient,
  type ProverOptions,
} from '@fairlead/client'
import { decodeCbor, type KindName } from '@fairlead/core'
import { durationText } from '@fairlead/engine'
import type { Terminal } from '../terminal/terminal.ts'
import { untilSignal } from '../terminal/until-signal.ts'
import { PROOF_FILE_VARIABLE, ProofFile } from './proof-file.ts'
import { type ProgramDetails, runProgram } from './run-program.ts'

interface Serving {
  readonly client: NodeClient
  readonly terminal: Terminal
  readonly isJson: boolean
  readonly command: string
  readonly providerId: string
  readonly kinds: readonly KindName[]
  readonly models: readonly string[]
  readonly concurrency: number
  readonly workerId: string | undefined
  readonly graceMs: number
  /** Null: it proves nothing. */
  readonly prover: ProverOptions | null
}

/** Serves until it is told to stop, and tells of each job in a line. */
export async function serveWithProgram(serving: Serving): Promise<void> {
  const { client, terminal, isJson, command, workerId, graceMs, providerId, prover } = serving
  const { dim, green, red } = terminal.colors
  const tell = (job: Job, outcome: string, ms: number, reason: string | null): void => {
    if (isJson) {
      const line = { task_id: job.jobId, attempt: job.attempt, outcome, ms, reason }
      terminal.out(JSON.stringify(line))
      return
    }
    const word = outcome === 'completed' ? green(outcome) : red(outcome)
    const why = reason === null ? '' : ` (${reason})`
    terminal.out(
      `${dim(job.jobId.slice(0, 18))}  ${job.kind} ${job.model ?? ''}  ${word}${why} after ${durationText(ms)}`,
    )
  }
  let lastTrouble = ''
  const stop = untilSignal()
  const worker = client.worker({
    providerId,
    kinds: serving.kinds,
    models: serving.models,
    concurrency: serving.concurrency,
    ...(workerId === undefined ? {} : { workerId }),
    ...(prover === null ? {} : { prover }),
    drainMs: null,
    handler: async (job) => {
      const started = Date.now()
      try {
        const say = (line: string) => terminal.note(`${dim(job.jobId.slice(0, 18))}  ${line}`)
        const output = await (prover === null
          ? runProgram(command, job, say)
          : runProved(command, job, say))
        tell(job, 'completed', Date.now() - started, null)
        return output
      } catch (error) {
        const isLost = job.signal.aborted
        tell(
          job,
          isLost ? 'stopped' : 'failed',
          Date.now() - started,
          isLost ? null : reasonOf(error),
        )
        throw error
      }
    },
    onError: (error, job) => {
      // What a handler threw was told above; that nobody answers need not be told again at every try.
      const { message } = error as Error
      if (job !== null && isRefusal(error)) {
        terminal.note(`${dim(job.jobId.slice(0, 18))}  not proved: ${message}`)
      }
      if (job === null && message !== lastTrouble) terminal.note(`fairlead: ${message}`)
      if (job === null) lastTrouble = message
    },
    onNotice: (notice) =>
      terminal.note(`fairlead: ${notice?.message ?? `${providerId} is in service again.`}`),
    onConnected: () => {
      lastTrouble = ''
      terminal.note(
        `${providerId} is served by ${worker.workerId} at ${client.url}; Ctrl-C stops it.`,
      )
    },
  })
  void stop.done.then(() => {
    terminal.note('Stopping: no more jobs, those that run are waited for.')
    return worker.stop({ graceMs })
  })
  await worker.closed
}

/** Runs a program that may write what the proof of its work says. */
async function runProved(
  command: string,
  job: Job,
  say: (line: string) => void,
): Promise<Completion> {
  const file = new ProofFile()
  try {
    const output = await runProgram(command, job, say, { [PROOF_FILE_VARIABLE]: file.path })
    job.prove(file.read())
    return output
  } finally {
    file.remove()
  }
}

/** A word of the server; what a program fails with is another error. */
function isRefusal(error: unknown): boolean {
  return error instanceof FairleadError && error.code !== 'LeaseNotLive'
}

/** In a word or two; the program's own words are on standard error already. */
function reasonOf(error: unknown): string {
  if (!(error instanceof AttemptFailure)) return (error as Error).message
  const { code, details } = error.failure
  const said = details === undefined ? {} : (decodeCbor(details) as Partial<ProgramDetails>)
  return [code, said.exit_code ?? said.signal].filter((word) => word !== undefined).join(' ')
}
