import { type Field, int, limit, u64 } from './policy-field.ts'
import type { SettingsOf } from './settings-table.ts'

const count = { min: 0, max: Number.MAX_SAFE_INTEGER }
const ppm = { min: 0, max: 1_000_000 }
const epochs = { min: 0, max: 1_000_000 }

/** The figures that a provider may violate, in the order in which they decide (SLA-5). */
export const DIMENSIONS = ['traps', 'fails', 'latency', 'availability'] as const
export type Dimension = (typeof DIMENSIONS)[number]

/** From the mildest to the worst. */
export const SEVERITIES = ['minor', 'major', 'critical'] as const
export type Severity = (typeof SEVERITIES)[number]

/** From the best to the worst; a provider that holds none of the first three is in `fail`. */
export const BANDS = ['gold', 'silver', 'bronze', 'fail'] as const
export type Band = (typeof BANDS)[number]

/** How good the service of a provider has to be, and what a bad epoch costs (SLA-3, SLA-5, SLA-7). */
// biome-ignore format: one setting a line, so that the table can be read as one
export const SLA_FIELDS = {
  window: int(2_000, { min: 1, max: 100_000 }, 'newest outcomes of a provider and kind that count'),
  minSamples: int(50, count, 'outcomes below which a provider is in silver'),
  bands: {
    gold: band({ p95Ms: 3_000, failPpm: 10_000, availabilityPpm: 990_000 }, 'gold'),
    silver: band({ p95Ms: 6_000, failPpm: 30_000, availabilityPpm: 975_000 }, 'silver'),
    bronze: band({ p95Ms: 12_000, failPpm: 70_000, availabilityPpm: 950_000 }, 'bronze'),
  },
  slash: {
    traps: row({ samples: 500, minor: null, major: 20_000, critical: 100_000 }, ppm, 'trap shots', 'failed trap shots in ppm'),
    fails: row({ samples: 200, minor: 70_000, major: 150_000, critical: 300_000 }, ppm, 'outcomes', 'a fail rate in ppm'),
    latency: row({ samples: 200, minor: 12_000, major: 30_000, critical: null }, count, 'completions', 'a p95 in ms for each unit'),
    availability: row({ samples: 200, minor: 950_000, major: 900_000, critical: 800_000 }, ppm, 'outcomes', 'an availability in ppm', 'below'),
  },
  severity: {
    minor: cost({ slash: 10_000n, cooldown: 1, jail: 0 }, 'minor'),
    major: cost({ slash: 50_000n, cooldown: 2, jail: 0 }, 'major'),
    critical: cost({ slash: 200_000n, cooldown: 4, jail: 2 }, 'critical'),
  },
  offenceEpochs: int(8, epochs, 'epochs for which an offence makes the next one dearer'),
  escalationTenths: tenths([10, 15, 20], 'factors of a first, a second and each later offence, in tenths'),
} as const

export type Sla = SettingsOf<typeof SLA_FIELDS>

/** Rules across several settings, each of which is sound by itself (POLICY-6). */
export function slaProblems({ slash }: Sla): string[] {
  return DIMENSIONS.flatMap((dimension) => {
    const row = slash[dimension]
    const given = SEVERITIES.filter((severity) => row[severity] !== null)
    return given.slice(1).flatMap((severity, i) => {
      const milder = given[i] as Severity
      const [worse, better] = [row[severity] as number, row[milder] as number]
      if (isWorse(dimension, worse, better)) return []
      const path = `sla.slash.${dimension}`
      return [`${path}.${severity}: expected a worse figure than ${path}.${milder} (${better})`]
    })
  })
}

/** True if a figure is beyond a threshold. Less availability is worse; of the others more is. */
export function isWorse(dimension: Dimension, figure: number, threshold: number): boolean {
  return dimension === 'availability' ? figure < threshold : figure > threshold
}

function band(
  limits: { readonly p95Ms: number; readonly failPpm: number; readonly availabilityPpm: number },
  name: string,
) {
  return {
    p95Ms: int(limits.p95Ms, count, `slowest p95 of ${name}, in ms for each unit`),
    failPpm: int(limits.failPpm, ppm, `highest fail rate of ${name}`),
    availabilityPpm: int(limits.availabilityPpm, ppm, `lowest availability of ${name}`),
  }
}

function row(
  values: { readonly samples: number } & Readonly<Record<Severity, number | null>>,
  bounds: { readonly min: number; readonly max: number },
  samples: string,
  figure: string,
  side = 'above',
) {
  const threshold = (severity: Severity): Field<number | null> =>
    limit(values[severity], bounds, `${figure} ${side} this is ${severity}; null is never`)
  return {
    samples: int(values.samples, count, `${samples} of an epoch below which nothing is slashed`),
    minor: threshold('minor'),
    major: threshold('major'),
    critical: threshold('critical'),
  }
}

function cost(
  values: { readonly slash: bigint; readonly cooldown: number; readonly jail: number },
  severity: Severity,
) {
  return {
    slash: u64(values.slash, 0n, `base units that a ${severity} offence costs`),
    cooldownEpochs: int(values.cooldown, epochs, `epochs without work after a ${severity} offence`),
    jailEpochs: int(values.jail, epochs, `epochs in jail after a ${severity} offence`),
  }
}

function tenths(
  value: readonly [number, number, number],
  purpose: string,
): Field<readonly [number, number, number]> {
  const { read } = int(0, { min: 0, max: 1_000_000 }, '')
  return {
    default: value,
    expected: 'a list of three whole numbers from 0 to 1000000',
    purpose,
    read: (written) => {
      if (!Array.isArray(written) || written.length !== 3) return undefined
      const [first, second, later] = written.map((each) => read(each))
      if (first === undefined || second === undefined || later === undefined) return undefined
      return [first, second, later]
    },
    show: (kept) => kept,
  }
}
