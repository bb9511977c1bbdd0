import type { EnqueueOptions, EnqueueRequest, JobReceipt, NodeClient } from '@fairlead/client'
import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

interface Flags {
  readonly from?: string
  readonly maxTokens: string
  readonly temperature?: string
  readonly shots: string
  readonly fee?: string
  readonly region?: readonly string[]
  readonly ttl?: string
  readonly key?: string
  readonly count: string
  readonly wait?: boolean
}

const KINDS = ['task', 'ai', 'quantum'] as const

/** Requests that wait for their answers at once. */
const AT_ONCE = 200

/** `fairlead enqueue`: one job from the command line, or many from a file. */
export const enqueue = command<Flags>({
  name: 'enqueue',
  summary: 'Enqueue a job, or all jobs of a file.',
  details:
    'task: its name, and its arguments as a JSON object.\n' +
    'ai: the model, and the prompt. quantum: the file with the circuit.\n' +
    'A prompt or arguments of - are read from standard input.\n' +
    'A file has one request a line, in JSON, with the fields of aicf.enqueue.',
  args: [
    { name: '[kind]', text: `one of ${KINDS.join(', ')}` },
    { name: '[name]', text: 'name of the task, model, or file with the circuit' },
    { name: '[input]', text: 'arguments of the task, or prompt' },
  ],
  options: [
    { flags: '--from <file>', text: 'read requests from a file, - is standard input' },
    { flags: '--max-tokens <n>', text: 'ai: tokens that may be generated', default: '256' },
    { flags: '--temperature <x>', text: 'ai: 0 to 2' },
    { flags: '--shots <n>', text: 'quantum: how often to run the circuit', default: '1000' },
    { flags: '--fee <n>', text: 'highest fee' },
    { flags: '--region <name>', text: 'where it may run; can be repeated', many: true },
    { flags: '--ttl <time>', text: 'how long it may take in all, such as 10m' },
    { flags: '--key <text>', text: 'idempotency key: the same one again adds nothing' },
    { flags: '--count <n>', text: 'enqueue it so many times', default: '1' },
    { flags: '--wait', text: 'wait for the result and print it' },
  ],
  needs: 'server',
  examples: [
    [`fairlead enqueue task resize '{"width": 100}'`, 'A task for whoever takes `resize`.'],
    ['fairlead enqueue ai llama3-8b "Say hello" --wait', 'Print what the model answered.'],
    ['fairlead enqueue quantum bell.qasm --shots 500 --fee 2000', 'A circuit from a file.'],
    ['fairlead enqueue --from jobs.jsonl', 'Many, one request a line.'],
  ],

  async run({ args, flags, client, print, terminal }) {
    const { requestsOf } = await import('../enqueue-requests.ts')
    const requests = requestsOf(args, flags)
    const server = await client()
    const receipts = await sendAll(server, requests, (done) => {
      if (requests.length > 1) terminal.progress(`${done} of ${requests.length} enqueued`)
    })
    terminal.progress('')
    if (flags.wait === true) return await waitForAll(server, receipts, print)
    const [only] = receipts
    const isOne = receipts.length === 1
    print(isOne ? only : receipts, receipts.map(({ task_id }) => task_id).join('\n'))
    return EXIT.ok
  },
})

export type { Flags as EnqueueFlags }

async function sendAll(
  client: NodeClient,
  requests: readonly (EnqueueRequest & EnqueueOptions)[],
  onProgress: (done: number) => void,
): Promise<JobReceipt[]> {
  const receipts: JobReceipt[] = []
  for (let at = 0; at < requests.length; at += AT_ONCE) {
    const some = requests.slice(at, at + AT_ONCE)
    receipts.push(...(await Promise.all(some.map((request) => client.enqueue(request)))))
    onProgress(receipts.length)
  }
  return receipts
}

async function waitForAll(
  client: NodeClient,
  receipts: readonly JobReceipt[],
  print: (value: unknown, text: string) => void,
): Promise<number> {
  const results = await Promise.all(receipts.map(({ task_id }) => client.waitForResult(task_id)))
  const records = results.map(({ record }) => record)
  print(records.length === 1 ? records[0] : records, results.map(({ text }) => text).join('\n'))
  return EXIT.ok
}
