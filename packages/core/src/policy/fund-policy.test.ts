import { describe, expect, it } from 'vitest'
import { encodeCbor } from '../encoding/cbor.ts'
import { sha3Hex } from '../encoding/hash.ts'
import { FairleadError } from '../errors.ts'
import { policyHash } from './fund-hash.ts'
import { parsePolicy, showPolicy } from './policy.ts'

const FINGERPRINT = `0x${'a1'.repeat(32)}`

const ECONOMICS = {
  base_rate: { ai: 1_000, quantum: 5_000 },
  model_rate: {},
  q_ppm: { gold: 1_100_000, silver: 1_000_000, bronze: 850_000, fail: 0 },
  depth: [
    { max: 16, d_ppm: 1_000_000 },
    { max: 32, d_ppm: 1_500_000 },
    { max: null, d_ppm: 2_000_000 },
  ],
  max_per_claim: 1_000_000_000_000,
  split_bps: {
    ai: { provider: 8_000, miner: 1_500, fund: 500 },
    quantum: { provider: 7_000, miner: 2_500, fund: 500 },
  },
  gamma_fund: null,
  cap: 'scale',
  carry_ppm: 0,
}

const SLA = {
  window: 2_000,
  min_samples: 50,
  bands: {
    gold: { p95_ms: 3_000, fail_ppm: 10_000, availability_ppm: 990_000 },
    silver: { p95_ms: 6_000, fail_ppm: 30_000, availability_ppm: 975_000 },
    bronze: { p95_ms: 12_000, fail_ppm: 70_000, availability_ppm: 950_000 },
  },
  slash: {
    traps: { samples: 500, minor: null, major: 20_000, critical: 100_000 },
    fails: { samples: 200, minor: 70_000, major: 150_000, critical: 300_000 },
    latency: { samples: 200, minor: 12_000, major: 30_000, critical: null },
    availability: { samples: 200, minor: 950_000, major: 900_000, critical: 800_000 },
  },
  severity: {
    minor: { slash: 10_000, cooldown_epochs: 1, jail_epochs: 0 },
    major: { slash: 50_000, cooldown_epochs: 2, jail_epochs: 0 },
    critical: { slash: 200_000, cooldown_epochs: 4, jail_epochs: 2 },
  },
  offence_epochs: 8,
  escalation_tenths: [10, 15, 20],
}

function problemsOf(written: unknown): string[] {
  try {
    parsePolicy(written, 'fund')
    return []
  } catch (error) {
    if (error instanceof FairleadError) return error.details['problems'] as string[]
    throw error
  }
}

it.each(['fund', 'queue'] as const)('POLICY-9: the maps of the fund under %s', (preset) => {
  const shown = showPolicy(parsePolicy({}, preset))
  expect(shown).toMatchObject({ economics: ECONOMICS, sla: SLA })
})

describe('wrong maps', () => {
  it.each([
    [{ max_per_claim: 1_000_000_000_001 }, 'economics.max_per_claim: expected a whole number'],
    [{ base_rate: { ai: 1_000_000_001 } }, 'economics.base_rate.ai: expected'],
    [{ model_rate: { x: 1.5 } }, 'economics.model_rate: expected'],
    [{ q_ppm: { gold: 10_000_001 } }, 'economics.q_ppm.gold: expected'],
    [{ gamma_fund: '1000000000000000001' }, 'economics.gamma_fund: expected'],
    [{ gamma_fund: -1 }, 'economics.gamma_fund: expected'],
    [{ cap: 'burn' }, 'economics.cap: expected one of scale, defer'],
    [{ carry_ppm: 1_000_001 }, 'economics.carry_ppm: expected'],
    [{ split_bps: { ai: { fund: 501 } } }, 'economics.split_bps.ai: expected shares that add up'],
    [{ depth: [] }, 'economics.depth: expected 1 to 64 rows'],
    [{ depth: [{ max: 16, d_ppm: 1 }] }, 'economics.depth[0].max: expected null in the last row'],
    [
      {
        depth: [
          { max: 5, d_ppm: 1 },
          { max: 5, d_ppm: 1 },
          { max: null, d_ppm: 1 },
        ],
      },
      'economics.depth[1].max: expected a whole number above the row before (5)',
    ],
    [{ depth: [{ max: null, d_ppm: 10_000_001 }] }, 'economics.depth[0].d_ppm: expected'],
    [{ depth: [{ max: null, d_ppm: 1, per: 'shot' }] }, 'economics.depth[0]: expected'],
    [{ depth: 'deep' }, 'economics.depth: expected a list'],
    [{ rate: 1 }, 'economics.rate: there is no such setting'],
  ])('POLICY-9: economics %j', (economics, problem) => {
    expect(problemsOf({ economics })).toEqual([expect.stringContaining(problem)])
  })

  it.each([
    [{ window: 0 }, 'sla.window: expected'],
    [{ window: 100_001 }, 'sla.window: expected'],
    [{ bands: { gold: { fail_ppm: 1_000_001 } } }, 'sla.bands.gold.fail_ppm: expected'],
    [{ slash: { fails: { minor: 150_000 } } }, 'sla.slash.fails.major: expected a worse figure'],
    [
      { slash: { availability: { critical: 960_000 } } },
      'sla.slash.availability.critical: expected a worse figure than sla.slash.availability.major',
    ],
    [{ slash: { traps: { minor: 100_001 } } }, 'sla.slash.traps.major: expected a worse figure'],
    [{ severity: { minor: { slash: -1 } } }, 'sla.severity.minor.slash: expected'],
    [{ escalation_tenths: [10, 15] }, 'sla.escalation_tenths: expected a list of three'],
    [{ escalation_tenths: [10, 15, 2.5] }, 'sla.escalation_tenths: expected a list of three'],
  ])('POLICY-9: sla %j', (sla, problem) => {
    expect(problemsOf({ sla })).toEqual([expect.stringContaining(problem)])
  })

  it('POLICY-9: a threshold that is null is left out of the comparison', () => {
    const slash = { fails: { minor: 150_000, major: null, critical: 150_001 } }
    expect(problemsOf({ sla: { slash } })).toEqual([])
  })

  it.each([
    [{ hsm: { kinds: ['ai'], roots: [FINGERPRINT] } }, []],
    [{ constructor: { kinds: [], roots: [] } }, []],
    [{ hsm: { kinds: ['cpu'], roots: [] } }, ['registry.attestation_classes.hsm.kinds']],
    [{ hsm: { kinds: ['ai'], roots: ['0xA1'] } }, ['registry.attestation_classes.hsm.roots']],
    [{ hsm: { kinds: [], roots: [], tier: 1 } }, ['registry.attestation_classes.hsm.tier']],
    [{ '': { kinds: [], roots: [] } }, ['registry.attestation_classes']],
  ])('ATTEST-1: classes %j', (attestation_classes, wrong) => {
    const problems = problemsOf({ registry: { attestation_classes } })
    expect(problems.map((problem) => problem.slice(0, problem.indexOf(':')))).toEqual(wrong)
  })

  it('ATTEST-1: revoked certificates are fingerprints', () => {
    expect(problemsOf({ registry: { attestation_revoked: [FINGERPRINT] } })).toEqual([])
    expect(problemsOf({ registry: { attestation_revoked: ['ab'] } })).toHaveLength(1)
  })
})

describe('the hash of the maps', () => {
  it('SETTLE-12: it is SHA3 of {economics, sla} in canonical CBOR', () => {
    const policy = parsePolicy({}, 'fund')
    expect(policyHash(policy)).toBe(
      '0x835294c788d8ba5de712cb42979e5bd6f7e332c88761efcd2e5a5a3d5dae5187',
    )
    expect(policyHash(policy)).toBe(sha3Hex(encodeCbor({ economics: ECONOMICS, sla: SLA })))
  })

  it('SETTLE-12: amounts are integers in it, also those that JSON writes as text', () => {
    const large = parsePolicy({ economics: { gamma_fund: '10000000000000000' } }, 'fund')
    const small = parsePolicy({ economics: { gamma_fund: 10_000 } }, 'fund')
    expect(new Set([large, small, parsePolicy({}, 'fund')].map(policyHash)).size).toBe(3)
    const economics = { ...ECONOMICS, gamma_fund: 10_000_000_000_000_000n }
    expect(policyHash(large)).toBe(sha3Hex(encodeCbor({ economics, sla: SLA })))
  })

  it('SETTLE-12: other settings do not change it', () => {
    const other = parsePolicy({ queue: { batch_size: 7 } }, 'queue')
    expect(policyHash(other)).toBe(policyHash(parsePolicy({}, 'fund')))
    const sla = parsePolicy({ sla: { window: 1_999 } }, 'fund')
    expect(policyHash(sla)).not.toBe(policyHash(other))
  })
})
