import type { Clock, JobId } from '@fairlead/core'
import { describe, expect, it } from 'vitest'
import { LogDesk } from './log-desk.ts'
import { MemoryJobLogs } from './memory-job-logs.ts'

const JOB = `0x${'1'.repeat(64)}` as JobId
const OTHER = `0x${'2'.repeat(64)}` as JobId

/** A clock that the test moves. */
class HandClock implements Clock {
  #now = 0
  #wakes: { at: number; wake: () => void }[] = []

  now(): number {
    return this.#now
  }

  wakeAt(at: number, wake: () => void): () => void {
    const entry = { at, wake }
    this.#wakes.push(entry)
    return () => {
      this.#wakes = this.#wakes.filter((other) => other !== entry)
    }
  }

  move(ms: number): void {
    this.#now += ms
    for (const entry of this.#wakes.filter(({ at }) => at <= this.#now)) {
      this.#wakes = this.#wakes.filter((other) => other !== entry)
      entry.wake()
    }
  }
}

describe('log lines', () => {
  it('PROGRESS-3: are saved a second after the first, together', () => {
    const [file, clock] = [new MemoryJobLogs(), new HandClock()]
    const desk = new LogDesk(file, clock, () => Promise.resolve(false))
    desk.add(JOB, 0, ['a'])
    clock.move(999)
    desk.add(JOB, 0, ['b'])
    expect(file.read(JOB)).toEqual([])
    expect(desk.read(JOB)[0]?.lines).toHaveLength(2)
    clock.move(1)
    expect(file.read(JOB)[0]?.lines.map(({ text }) => text)).toEqual(['a', 'b'])
    desk.add(JOB, 0, ['c'])
    desk.close()
    expect(file.read(JOB)[0]?.lines).toHaveLength(3)
  })

  it('PROGRESS-3: the newest 1,000 stay, and the number of the others is told', () => {
    const [file, clock] = [new MemoryJobLogs(), new HandClock()]
    const desk = new LogDesk(file, clock, () => Promise.resolve(false))
    for (let i = 0; i < 1_003; i++) desk.add(JOB, 0, [`${i}`])
    desk.save()
    const [log] = file.read(JOB)
    expect([log?.dropped, log?.lines.length, log?.lines[0]?.text]).toEqual([3, 1_000, '3'])
    desk.add(JOB, 0, ['more'])
    expect(desk.read(JOB)[0]).toMatchObject({ dropped: 4 })
  })

  it('PROGRESS-3: 64 KiB stay, and a long line is cut', () => {
    const [file, clock] = [new MemoryJobLogs(), new HandClock()]
    const desk = new LogDesk(file, clock, () => Promise.resolve(false))
    for (let i = 0; i < 40; i++) desk.add(JOB, 0, ['x'.repeat(9_000)])
    const [log] = desk.read(JOB)
    expect(log?.lines.every(({ text }) => text.length === 4_096 && text.endsWith('…'))).toBe(true)
    const bytes = (log?.lines ?? []).reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
    expect(bytes).toBeLessThanOrEqual(65_536)
    expect(log?.lines.length).toBe(15)
  })

  it('PROGRESS-3: go with their job', async () => {
    const [file, clock] = [new MemoryJobLogs(), new HandClock()]
    let asked = () => {}
    const isDone = new Promise<void>((resolve) => {
      asked = resolve
    })
    const desk = new LogDesk(file, clock, (id) => {
      if (id === OTHER) asked()
      return Promise.resolve(id === JOB)
    })
    desk.add(JOB, 0, ['a'])
    desk.add(OTHER, 0, ['b'])
    clock.move(1_000)
    clock.move(600_000)
    desk.add(OTHER, 0, ['c'])
    clock.move(1_000)
    await isDone
    await new Promise((resolve) => setImmediate(resolve))
    expect(file.jobsAfter(null, 10)).toEqual([OTHER])
  })
})
