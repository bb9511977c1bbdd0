import type { NodeClient } from '@fairlead/client'
import { durationText } from '@fairlead/engine'
import { ProvidersFile, type SignupEvent, signupWorker } from '@fairlead/signup'
import type { Terminal } from '../terminal/terminal.ts'
import { untilSignal } from '../terminal/until-signal.ts'

interface Serving {
  readonly client: NodeClient
  readonly terminal: Terminal
  readonly isJson: boolean
  /** Of the file with the booking sites. */
  readonly path: string
  readonly providerId: string
  readonly concurrency: number
  readonly workerId: string | undefined
  readonly graceMs: number
}

/** Serves registrations until it is told to stop, and tells of each attempt in a line. */
export async function serveSignups(serving: Serving): Promise<void> {
  const { client, terminal, isJson, path, providerId, concurrency, workerId, graceMs } = serving
  const note = (error: unknown): void => terminal.note(`fairlead: ${(error as Error).message}`)
  const stop = untilSignal()
  const providers = new ProvidersFile({ path, watch: true, onError: note })
  const worker = signupWorker({
    source: client.leaseSource(),
    providerId,
    providers,
    concurrency,
    ...(workerId === undefined ? {} : { workerId }),
    onEvent: (event) => {
      if (isJson) terminal.out(JSON.stringify(jsonOf(event)))
      else terminal.out(textOf(event, terminal))
    },
    onError: note,
    onNotice: (notice) =>
      terminal.note(`fairlead: ${notice?.message ?? `${providerId} is in service again.`}`),
    onConnected: () => {
      const sites = providers.current.platforms.join(', ')
      terminal.note(`${providerId} books at ${sites} for ${client.url}; Ctrl-C stops it.`)
    },
  })
  void stop.done.then(() => {
    terminal.note('Stopping: no more attempts, those under way are waited for.')
    return worker.stop({ graceMs })
  })
  try {
    await worker.closed
  } finally {
    providers.close()
  }
}

function textOf(event: SignupEvent, { colors }: Terminal): string {
  switch (event.type) {
    case 'attemptEnded': {
      const { jobId, platform, attempt, rank, result, http, tookMs } = event
      const isDone = result === 'booked' || result === 'waitlisted'
      const status = http === null ? '' : ` (${http})`
      const place = rank === null ? '' : ` rank ${rank}`
      const word = (isDone ? colors.green : colors.red)(result)
      const took = durationText(tookMs)
      return `${colors.dim(jobId.slice(0, 18))}  ${platform}${place} attempt ${attempt}  ${word}${status} after ${took}`
    }
    case 'feeFailed': {
      const { jobId, platform } = event
      return `${colors.dim(jobId.slice(0, 18))}  ${platform}  ${colors.red('the fee was not taken')}; the booking stands`
    }
    case 'platformsChanged':
      return `The file has changed: ${event.platforms.join(', ')}`
  }
}

/** In the names of the wire. */
function jsonOf(event: SignupEvent): object {
  switch (event.type) {
    case 'attemptEnded': {
      const { type, jobId, platform, attempt, rank, result, http, sentAt, tookMs } = event
      return {
        ...{ type, task_id: jobId, provider: platform, attempt, rank, result, http },
        ...{ sent_at: sentAt, ms: tookMs },
      }
    }
    case 'feeFailed':
      return { type: event.type, task_id: event.jobId, provider: event.platform }
    case 'platformsChanged':
      return { type: event.type, providers: event.platforms }
  }
}
