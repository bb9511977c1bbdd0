import type { EnqueueOptions, EnqueueRequest } from '@fairlead/client'
import type { EnqueueFlags } from './commands/enqueue.ts'
import { duration, jsonObject, misuse, oneOfWords, wholeNumber } from './flags.ts'
import { inputOf, readFile, STDIN } from './read-input.ts'

const KINDS = ['task', 'ai', 'quantum'] as const

/** The requests that a command line stands for. */
export function requestsOf(args: readonly string[], flags: EnqueueFlags): EnqueueRequest[] {
  if (flags.from !== undefined) {
    if (args.length > 0) throw misuse('--from: expected either a file or a job, not both')
    return requestsIn(flags.from)
  }
  const count = wholeNumber('--count', flags.count, { min: 1, max: 1_000_000 })
  if (count > 1 && flags.key !== undefined) {
    throw misuse('--key: expected no --count with it; jobs with one key are one job')
  }
  const request = oneRequest(args, flags)
  return Array.from({ length: count }, () => request)
}

function oneRequest(args: readonly string[], flags: EnqueueFlags): EnqueueRequest {
  const [written, name, input] = args
  if (written === undefined || name === undefined) {
    throw misuse(
      'expected a kind and a name, as in: fairlead enqueue task resize; or --from <file>',
    )
  }
  const kind = oneOfWords('kind', written, KINDS)
  const around = optionsOf(flags)
  if (kind === 'task') {
    const args = jsonObject('input', inputOf(input ?? '{}')) as Record<string, never>
    return { kind, payload: { name, args }, ...around }
  }
  if (kind === 'quantum') {
    const shots = wholeNumber('--shots', flags.shots, { min: 1 })
    return { kind, payload: { circuit: readFile(name), shots }, ...around }
  }
  if (input === undefined) throw misuse('input: expected the prompt, or - to read it')
  const max_tokens = wholeNumber('--max-tokens', flags.maxTokens, { min: 1 })
  const prompt = new TextEncoder().encode(inputOf(input))
  const payload = { model: name, prompt, max_tokens, ...temperatureOf(flags.temperature) }
  return { kind, payload, ...around }
}

function optionsOf(flags: EnqueueFlags): EnqueueOptions {
  const { fee, region, ttl, key } = flags
  return {
    // Checked by the server, which also takes what a number of ours cannot hold.
    ...(fee === undefined
      ? {}
      : { max_fee_u64: Number.isSafeInteger(Number(fee)) ? Number(fee) : fee }),
    ...(region === undefined ? {} : { regions: [...region] }),
    ...(ttl === undefined ? {} : { ttl_abs_secs: Math.ceil(duration('--ttl', ttl) / 1_000) }),
    ...(key === undefined ? {} : { idempotency_key: key }),
  }
}

function temperatureOf(text: string | undefined): { readonly temperature?: number } {
  if (text === undefined) return {}
  const temperature = Number(text)
  if (text.trim() !== '' && temperature >= 0 && temperature <= 2) return { temperature }
  throw misuse(`--temperature: expected a number from 0 to 2, got ${text}`)
}

function requestsIn(file: string): EnqueueRequest[] {
  const text = new TextDecoder().decode(readFile(file === '-' ? STDIN : file))
  const lines = text.split('\n').map((line, i) => ({ line, number: i + 1 }))
  const requests = lines
    .filter(({ line }) => line.trim() !== '')
    .map(({ line, number }) => jsonObject(`--from, line ${number}`, line))
  if (requests.length > 0) return requests as unknown as EnqueueRequest[]
  throw misuse(`--from: expected a request a line, found none in ${file}`)
}
