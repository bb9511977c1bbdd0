import { runSimulateCommand } from '@fairlead/testkit/simulator'
import { afterEach, describe, expect, it, vi } from 'vitest'

afterEach(() => vi.restoreAllMocks())

async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const out = vi.spyOn(console, 'log').mockImplementation(() => {})
  const err = vi.spyOn(console, 'error').mockImplementation(() => {})
  const code = await runSimulateCommand(args)
  const text = (spy: typeof out) => spy.mock.calls.map(([line]) => String(line)).join('\n')
  return { code, out: text(out), err: text(err) }
}

describe('npm run simulate', () => {
  it('says what it can do', async () => {
    const { code, out } = await run('--help')
    expect(code).toBe(0)
    expect(out).toContain('--seed N')
    expect(out).toContain('storm')
  })

  it('says how many steps went well', async () => {
    const { code, out } = await run('--seed', '4', '--steps', '150')
    expect(code).toBe(0)
    expect(out).toMatch(/^150 steps in 1 runs from seed 4, .*: every invariant held\n\d+ jobs/)
  })

  it('gives one object with --json', async () => {
    const { code, out } = await run('--seed', '4', '--steps', '150', '--scenario', 'fair', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ seed: 4, steps: 150, runs: 1, failure: null })
  })

  it.each([
    [['--steps', 'many'], '--steps'],
    [['--steps', '0'], '--steps'],
    [['--seed', '-1'], 'seed'],
    [['--scenario', 'paradise'], 'paradise'],
    [['--speed'], '--speed'],
  ])('refuses %j', async (args, word) => {
    const { code, err } = await run(...args)
    expect(code).toBe(2)
    expect(err).toContain(word)
  })
})
