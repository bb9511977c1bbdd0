import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Job } from '../src/index.ts'
import { Rig } from './rig.ts'
import { ServerRig } from './server-rig.ts'

describe('a worker in the same process', () => {
  let rig: Rig
  beforeEach(async () => {
    rig = await Rig.open()
  })
  afterEach(() => rig.engine.close())

  it('PROGRESS-4: sends what a handler said before its outcome, gathered', async () => {
    await rig.worker((job) => {
      for (let i = 0; i < 250; i++) job.log(`line ${i}`)
      job.progress(30.4, 'first')
      job.progress(99.6)
      return 'done'
    })
    const id = await rig.enqueue()
    await rig.clock.settle()
    await rig.clock.settle()
    expect((await rig.engine.getJob(id)).status).toBe('COMPLETED')
    const [log] = rig.engine.progress.logs(id)
    expect(log?.lines).toHaveLength(250)
    expect(log?.lines.at(-1)?.text).toBe('line 249')
    expect(rig.errors).toEqual([])
  })

  it('PROGRESS-4: makes text of whatever a handler says, and never fails its attempt', async () => {
    const unshowable = {
      [inspect.custom]() {
        throw new Error('no')
      },
    }
    const said = [{ a: 1 }, null, undefined, 5n, Symbol('s'), unshowable, '\ud800', 'a\nb']
    await rig.worker((job) => {
      for (const each of said) job.log(each)
      job.log(`${'x'.repeat(9_000)}\nend`)
      job.progress(150, { page: 4 } as never)
      job.progress(Number.NaN, null as never)
      job.progress('50' as never)
      return 'done'
    })
    const id = await rig.enqueue()
    await rig.clock.settle()
    await rig.clock.settle()
    expect(await rig.engine.getJob(id)).toMatchObject({ status: 'COMPLETED', attempt: 0 })
    const [log] = rig.engine.progress.logs(id)
    const texts = log?.lines.map(({ text }) => text) ?? []
    expect(texts.slice(0, 5)).toEqual(['{ a: 1 }', 'null', 'undefined', '5n', 'Symbol(s)'])
    expect(texts.slice(5, 9)).toEqual(['(a value that cannot be shown)', '\ufffd', 'a', 'b'])
    expect(texts[9]).toHaveLength(4_096)
    expect(texts[9]?.endsWith('…')).toBe(true)
    expect(texts.slice(10)).toEqual(['end'])
    expect(log?.progress).toMatchObject({ percent: 100, message: '{ page: 4 }' })
  })

  it('PROGRESS-4: reports while the handler runs, at most twice a second', async () => {
    let running: Job | undefined
    let finish = (): void => {}
    await rig.worker((job) => {
      running = job
      return new Promise<void>((resolve) => {
        finish = resolve
      })
    })
    const id = await rig.enqueue()
    await rig.clock.settle()
    running?.progress(10, 'a')
    await rig.clock.advance(1)
    expect(rig.engine.progress.of(id)).toMatchObject({ percent: 10, message: 'a' })
    running?.progress(20)
    running?.progress(30)
    await rig.clock.advance(498)
    expect(rig.engine.progress.of(id)?.percent).toBe(10)
    await rig.clock.advance(2)
    expect(rig.engine.progress.of(id)).toMatchObject({ percent: 30, message: 'a' })
    finish()
    await rig.clock.settle()
  })
})

describe('a worker over the wire', () => {
  let rig: ServerRig
  beforeEach(async () => {
    rig = await ServerRig.open()
  })
  afterEach(() => rig.close())

  it('PROGRESS-2, PROGRESS-4: is heard of live, and its lines are read by the requester', async () => {
    const heard: number[] = []
    let tell = (): void => {}
    const first = new Promise<void>((resolve) => {
      tell = resolve
    })
    await rig.client.onProgress(({ percent }) => {
      heard.push(percent)
      tell()
    })
    rig.worker(async (job) => {
      job.log('fetching')
      job.progress(40, 'page 4')
      await first
      return 'x'
    })
    const payload = { name: 'resize', args: {} }
    const { task_id } = await rig.client.enqueue({ kind: 'task', payload })
    await first
    await rig.client.waitForResult(task_id)
    expect(heard[0]).toBe(40)
    const { attempts } = await rig.client.call('aicf.getLogs', { task_id })
    expect(attempts).toMatchObject([{ attempt: 0, dropped: 0, lines: [{ text: 'fetching' }] }])
  })
})
