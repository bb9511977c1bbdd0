import type { ProviderNotice } from '@fairlead/core'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ATLAS, Rig } from './rig.ts'
import { ServerRig } from './server-rig.ts'

describe('a notice in this process', () => {
  it('WORKER-15: is heard when it begins and when it ends, and the same one once', async () => {
    const rig = await Rig.open()
    const heard: (ProviderNotice | null)[] = []
    await rig.worker(() => 'x', { onNotice: (notice) => heard.push(notice) })
    expect(heard).toEqual([])
    await rig.engine.setProviderStatus(ATLAS, 'SUSPENDED')
    await rig.settle()
    expect(heard).toMatchObject([{ reason: 'provider_not_active' }])
    expect(heard[0]?.message).toMatch(/provider:atlas gets no work: .*SUSPENDED.*set-status/)
    await rig.source.cut()
    await rig.clock.advance(1_000)
    expect(heard).toHaveLength(1)
    await rig.engine.setProviderStatus(ATLAS, 'ACTIVE')
    await rig.settle()
    expect(heard[1]).toBe(null)
    expect(await rig.status(await rig.enqueue())).toBe('COMPLETED')
  })

  it('WORKER-15: is a process warning where nobody listens, and its end is none', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => warn.mockRestore())
    const rig = await Rig.open()
    await rig.worker(() => 'x')
    await rig.engine.setProviderStatus(ATLAS, 'SUSPENDED')
    await rig.settle()
    await rig.engine.setProviderStatus(ATLAS, 'ACTIVE')
    await rig.settle()
    expect(warn.mock.calls).toEqual([[expect.stringContaining('it is SUSPENDED')]])
  })

  it('WORKER-15: an error of its listener goes to onError, and the worker goes on', async () => {
    const rig = await Rig.open()
    await rig.worker(() => 'x', {
      onNotice: () => {
        throw new Error('of the listener')
      },
    })
    await rig.engine.setProviderStatus(ATLAS, 'SUSPENDED')
    await rig.settle()
    await rig.engine.setProviderStatus(ATLAS, 'ACTIVE')
    expect(await rig.status(await rig.enqueue())).toBe('COMPLETED')
    expect(rig.errors.map(String)).toContain('Error: of the listener')
  })
})

describe('a notice over the wire', () => {
  it('WORKER-15: comes when the worker connects, and whenever it changes', async () => {
    const rig = await ServerRig.open()
    onTestFinished(() => rig.close())
    const set = (status: 'SUSPENDED' | 'ACTIVE') =>
      rig.client.call('aicf.setProviderStatus', { provider_id: 'provider:atlas', status })
    const heard: (ProviderNotice | null)[] = []
    let wake = (): void => {}
    const options = {
      onNotice: (notice: ProviderNotice | null) => {
        heard.push(notice)
        wake()
      },
    }
    const hears = async (count: number): Promise<void> => {
      while (heard.length < count) await new Promise<void>((resolve) => (wake = resolve))
    }
    const first = rig.worker(() => 'x', options)
    await rig.connected()
    await set('SUSPENDED')
    await hears(1)
    expect(heard[0]).toMatchObject({ reason: 'provider_not_active' })
    await first.stop()
    rig.worker(() => 'y', options)
    await hears(2)
    expect(heard[1]).toEqual(heard[0])
    await set('ACTIVE')
    await hears(3)
    expect(heard[2]).toBe(null)
    expect((await rig.client.waitForResult(await rig.enqueue(1))).value).toBe('y')
  })
})
