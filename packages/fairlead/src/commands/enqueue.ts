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
  readonly delay?: string
  readonly at?: string
  readonly attempts?: string
  readonly backoff?: string
  readonly timeout?: string
  readonly priority?: string
  readonly tag?: readonly string[]
  readonly after?: readonly string[]
  readonly ifDependencyFails?: string
  readonly dedupeKey?: string
  readonly count: string
  readonly wait?: boolean
}

const KINDS = ['task', 'ai', 'quantum'] as const

/** `fairlead enqueue`: one job from the command line, or many from a file. */
export const enqueue = command<Flags>({
  name: 'enqueue',
  summary: 'Enqueue a job, or all jobs of a file.',
  details:
    'task: its name, and its arguments as a JSON object.\n' +
    'ai: the model, and the prompt. quantum: the file with the circuit.\n' +
    'A prompt or arguments of - are read from standard input.\n' +
    'A file has one request a line, in JSON, with the fields of aicf.enqueue. All lines are checked first: a wrong one is named, and nothing is enqueued. Lines that the server refuses are named, with how many were enqueued.\n' +
    'With --wait, text and JSON are printed as they are, and other bytes unchanged into a pipe or file. A job that ends without a result is told with its last error, and the exit code is 1.',
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
    { flags: '--delay <time>', text: 'not before so long from now, such as 10m' },
    { flags: '--at <time>', text: 'not before this time, as 2027-03-01T09:00:00Z' },
    { flags: '--attempts <n>', text: 'failures that end it' },
    {
      flags: '--backoff <first,factor,longest,jitter>',
      text: 'wait after a failure, as 5s,2,15m,10%; all but the first may be left out',
    },
    { flags: '--timeout <time>', text: 'longest time of an attempt' },
    { flags: '--priority <n>', text: 'rank among your own jobs, -100 to 100' },
    { flags: '--tag <text>', text: 'to find it by; can be repeated', many: true },
    {
      flags: '--after <id>',
      text: 'a job that has to complete before; can be repeated',
      many: true,
    },
    { flags: '--if-dependency-fails <word>', text: 'cancel (the default) or run' },
    { flags: '--dedupe-key <text>', text: 'adds nothing while a live job of the same name has it' },
    { flags: '--count <n>', text: 'enqueue it so many times', default: '1' },
    { flags: '--wait', text: 'wait for the result and print it' },
  ],
  needs: 'server',
  examples: [
    [`fairlead enqueue task resize '{"width": 100}'`, 'A task called resize.'],
    ['fairlead enqueue ai llama3-8b "Say hello" --wait', 'Print what the model answered.'],
    ['fairlead enqueue quantum bell.qasm --shots 500 --fee 2000', 'A circuit from a file.'],
    ['fairlead enqueue task report --delay 1h --attempts 3', 'Not before an hour from now.'],
    ['fairlead enqueue task mail --after 0x5c1f3a90', 'When that job is complete.'],
    ['fairlead enqueue --from jobs.jsonl', 'Many, one request a line.'],
  ],

  async run({ args, flags, client, print, isJson, terminal }) {
    const { completeIds, requestsOf } = await import('../jobs/enqueue-requests.ts')
    const { sendRequests } = await import('../jobs/send-requests.ts')
    const wanted = requestsOf(args, flags)
    const server = await client()
    await completeIds(wanted, server)
    const { receipts, refusals } = await sendRequests(server, wanted, (done) => {
      if (wanted.length > 1) terminal.progress(`${done} of ${wanted.length} enqueued`)
    })
    terminal.progress('')
    let code: number = EXIT.ok
    if (flags.wait === true) {
      const { waitForResults } = await import('../jobs/wait-for-results.ts')
      code = await waitForResults(server, receipts, { print, isJson, terminal })
    } else if (receipts.length > 0) {
      const ids = receipts.map(({ task_id }) => task_id)
      print(wanted.length === 1 ? receipts[0] : receipts, ids)
    }
    if (refusals === null) return code
    const { lines, error, exitCode } = refusals
    terminal.note(isJson ? JSON.stringify({ error }) : [`fairlead: ${error.message}`, ...lines])
    return exitCode
  },
})

export type { Flags as EnqueueFlags }
