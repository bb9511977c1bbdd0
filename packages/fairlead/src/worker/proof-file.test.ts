import { existsSync, writeFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ProofFile } from './proof-file.ts'

function fileWith(text: string | null): ProofFile {
  const file = new ProofFile()
  onTestFinished(() => file.remove())
  if (text !== null) writeFileSync(file.path, text)
  return file
}

describe('the file for the facts of a proof', () => {
  it('PROVE-5: gives what a program wrote, and nothing where it wrote nothing', () => {
    const facts = {
      units_ppm: 3_250_000,
      qos: { p95_latency_ms: 420, availability_ppm: 999_300 },
      traps: { shots: 100, passed: 99 },
    }
    expect(fileWith(JSON.stringify(facts)).read()).toEqual({
      unitsPpm: 3_250_000,
      qos: { p95LatencyMs: 420, availabilityPpm: 999_300 },
      traps: { shots: 100, passed: 99 },
    })
    expect(fileWith('{}').read()).toEqual({})
    expect(fileWith(null).read()).toEqual({})
  })

  it.each([
    ['not JSON', 'JSON'],
    ['[]', 'expected a JSON object'],
    ['{"unit": 1}', 'unit: expected one of units_ppm, qos, traps'],
    ['{"units_ppm": 0.5}', 'units_ppm: expected a whole number'],
    ['{"traps": {"shots": 1}}', 'traps.passed: expected a whole number'],
    ['{"qos": []}', 'qos.p95_latency_ms: expected a whole number'],
  ])('PROVE-5: %s fails the attempt, and names the field', (text, message) => {
    const wrong = expect.objectContaining({ message: expect.stringContaining(message) as string })
    expect(() => fileWith(text).read()).toThrow(wrong)
  })

  it('PROVE-5: is gone afterwards', () => {
    const file = fileWith('{}')
    file.remove()
    expect(existsSync(file.path)).toBe(false)
  })
})
