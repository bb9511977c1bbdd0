import { parsePolicy } from '@fairlead/core'
import { expect, it } from 'vitest'
import { fundWarnings } from './fund-warnings.ts'

it('ATTEST-6: a kind with proofs and without a required attestation is worth a warning', () => {
  expect(fundWarnings(parsePolicy({}, 'queue'))).toEqual([])
  const warnings = fundWarnings(parsePolicy({}, 'fund'))
  expect(warnings.map((text) => text.split(' ')[0])).toEqual(['ai', 'quantum'])
  expect(warnings[0]).toContain('registry.attestation_required.ai')
  const required = { registry: { attestation_required: { ai: true, quantum: true } } }
  expect(fundWarnings(parsePolicy(required, 'fund'))).toEqual([])
})
