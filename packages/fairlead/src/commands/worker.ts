import type { ProverOptions } from '@fairlead/client'
import type { KindName } from '@fairlead/core'
import { command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

interface Flags {
  readonly provider: string
  readonly exec?: string
  readonly kind?: readonly string[]
  readonly model?: readonly string[]
  readonly concurrency: string
  readonly workerId?: string
  readonly grace: string
  readonly proverKey?: string
  readonly attest?: string
  readonly chain?: readonly string[]
}

const KINDS: readonly KindName[] = ['ai', 'quantum', 'task', 'registration']

/** `fairlead worker --exec`: any program is a worker. */
export const worker = command<Flags>({
  name: 'worker',
  summary: 'Serve a provider: run a program for each job.',
  details: [
    'The program gets the payload on standard input and gives the result on standard output; what it',
    'writes to standard error is shown. For ai its input is the prompt, for quantum the circuit, for all',
    'else the payload as JSON. FAIRLEAD_TASK_ID, FAIRLEAD_LEASE_ID, FAIRLEAD_ATTEMPT, FAIRLEAD_KIND,',
    'FAIRLEAD_MODEL and FAIRLEAD_PAYLOAD (as JSON) are in its environment, and TRACEPARENT if it is traced.',
    'Exit code 0: done. 65: the job itself is wrong, and is not tried again. 75: try again later. Any',
    'other: failed, and tried again. When the work is wanted no more it gets SIGTERM, and 5 s later SIGKILL.',
    'With a key it proves its ai and quantum work. The program may write what the proof says into the file that',
    'FAIRLEAD_PROOF_FILE names, as JSON: {units_ppm, qos: {p95_latency_ms, availability_ppm}, traps: {shots, passed}}.',
    'Quantum work needs traps. The program never gets the key.',
    'On SIGTERM or Ctrl-C the worker takes no more jobs, waits for those it has, and gives back the rest.',
  ].join('\n'),
  options: [
    { flags: '--provider <id>', text: 'whom to serve', default: 'provider:local' },
    { flags: '--exec <command>', text: 'program to run for each job, with its arguments' },
    {
      flags: '--kind <kind>',
      text: `one of ${KINDS.join(', ')}; can be repeated (task)`,
      many: true,
    },
    { flags: '--model <name>', text: 'models or task names; can be repeated (all)', many: true },
    { flags: '--concurrency <n>', text: 'jobs at once', default: '1' },
    { flags: '--worker-id <id>', text: 'name of this process among those of the provider' },
    { flags: '--grace <time>', text: 'how long jobs may go on after SIGTERM', default: '25s' },
    {
      flags: '--prover-key <file>',
      text: 'prove the work: file of fairlead keys new (FAIRLEAD_PROVIDER_KEY has its line)',
    },
    {
      flags: '--attest <class>',
      text: 'attest the provider as this class of hardware; needs --chain',
    },
    {
      flags: '--chain <file>',
      text: 'certificates for --attest, leaf first and root last; can be repeated',
      many: true,
    },
  ],
  needs: 'server',
  examples: [
    ['fairlead worker --exec ./handler.sh', 'Take all tasks, one at a time.'],
    [
      'fairlead worker --exec "wc -c" --model count --concurrency 4',
      'Tasks called count, four at once.',
    ],
    [
      'fairlead worker --provider provider:gpu1 --kind ai --model llama3-8b --exec ./generate',
      'Prompts on standard input.',
    ],
    [
      'fairlead worker --provider provider:gpu1 --kind ai --exec ./generate --prover-key gpu1.key --attest enclave --chain chain.pem',
      'The same for a fund.',
    ],
  ],

  async run(call) {
    const { serveWithProgram } = await import('../worker/serve-with-program.ts')
    const { isThere } = await import('../worker/run-program.ts')
    const { duration, misuse, oneOfWords, wholeNumber } = await import('../flags/flags.ts')
    const { flags, client, terminal, isJson } = call
    if (flags.exec === undefined) {
      throw misuse('--exec: expected a program to run for each job, as in --exec ./handler.sh')
    }
    if (!isThere(flags.exec)) {
      throw misuse(
        `--exec: expected a program that can be run here, got ${flags.exec}; look at its path, and whether it is executable (chmod +x)`,
      )
    }
    await serveWithProgram({
      client: await client(),
      terminal,
      isJson,
      command: flags.exec,
      providerId: flags.provider,
      kinds: (flags.kind ?? ['task']).map((kind) => oneOfWords('--kind', kind, KINDS)),
      models: flags.model ?? ['*'],
      concurrency: wholeNumber('--concurrency', flags.concurrency, { min: 1, max: 100_000 }),
      workerId: flags.workerId,
      graceMs: duration('--grace', flags.grace),
      prover: await proverOf(flags),
    })
    return EXIT.ok
  },
})

/** Null without a key: then nothing is proved. */
async function proverOf({ proverKey, attest, chain }: Flags): Promise<ProverOptions | null> {
  const { misuse } = await import('../flags/flags.ts')
  const { KEY_VARIABLE } = await import('@fairlead/client')
  const { readChain } = await import('../attest/read-certificates.ts')
  if ((attest === undefined) !== (chain === undefined)) {
    throw misuse('--attest and --chain: expected both, a class of hardware and its certificates')
  }
  const inEnvironment = process.env[KEY_VARIABLE] ?? ''
  if (proverKey === undefined && inEnvironment === '') {
    if (attest === undefined) return null
    throw misuse(
      `--attest: expected the key of the provider too, as --prover-key or in ${KEY_VARIABLE}`,
    )
  }
  return {
    ...(proverKey === undefined ? {} : { keyFile: proverKey }),
    ...(attest === undefined || chain === undefined
      ? {}
      : { attestation: { class: attest, chain: () => readChain(chain) } }),
  }
}
