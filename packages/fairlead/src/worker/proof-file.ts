import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AttemptFailure, type ProofFacts } from '@fairlead/client'
import { isPlainObject } from '@fairlead/core/internal'

/** The variable that names the file. */
export const PROOF_FILE_VARIABLE = 'FAIRLEAD_PROOF_FILE'

/** The fields of the file, and of the numbers in them. */
const FIELDS = ['units_ppm', 'qos', 'traps']

/** A file into which a program writes what the proof of its work is to say (PROVE-5). */
export class ProofFile {
  readonly path: string
  readonly #folder: string

  constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), 'fairlead-proof-'))
    this.path = join(this.#folder, 'proof.json')
  }

  /** What the program wrote; nothing if there is no file. */
  read(): ProofFacts {
    let text: string
    try {
      text = readFileSync(this.path, 'utf8')
    } catch {
      return {}
    }
    try {
      return factsOf(JSON.parse(text))
    } catch (error) {
      throw wrong(`${PROOF_FILE_VARIABLE}: ${(error as Error).message}`)
    }
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

function factsOf(json: unknown): ProofFacts {
  if (!isPlainObject(json)) throw new Error('expected a JSON object')
  const odd = Object.keys(json).find((name) => !FIELDS.includes(name))
  if (odd !== undefined) throw new Error(`${odd}: expected one of ${FIELDS.join(', ')}`)
  const { units_ppm: units, qos, traps } = json
  return {
    ...(units === undefined ? {} : { unitsPpm: number('units_ppm', units) }),
    ...(qos === undefined
      ? {}
      : {
          qos: {
            p95LatencyMs: inner('qos', qos, 'p95_latency_ms'),
            availabilityPpm: inner('qos', qos, 'availability_ppm'),
          },
        }),
    ...(traps === undefined
      ? {}
      : {
          traps: { shots: inner('traps', traps, 'shots'), passed: inner('traps', traps, 'passed') },
        }),
  }
}

function inner(name: string, map: unknown, field: string): number {
  return number(`${name}.${field}`, isPlainObject(map) ? map[field] : undefined)
}

function number(name: string, value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number
  throw new Error(`${name}: expected a whole number of at least 0`)
}

/** The work is done, and nobody could be paid for it: another attempt may do better. */
function wrong(message: string): AttemptFailure {
  return new AttemptFailure({ code: 'invalid_result', permanent: false, message })
}
