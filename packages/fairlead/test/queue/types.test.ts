import { expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { type Job, openQueue, type Queue, type RunningJob } from '../../dist/index.js'
import { openTestQueue, type TestQueue } from '../../dist/test/index.js'

interface Tasks {
  email(data: { to: string; cc?: string }): Promise<{ id: number }>
  beep(data: Record<string, never>): null
}

it('QUEUE-14: payloads and results have the types of their task', async () => {
  const queue = await openQueue<Tasks>(':memory:')
  expectTypeOf(queue).toEqualTypeOf<Queue<Tasks>>()
  queue.work('email', (data, job) => {
    expectTypeOf(data).toEqualTypeOf<{ to: string; cc?: string }>()
    expectTypeOf(job).toEqualTypeOf<RunningJob>()
    return { id: 7 }
  })
  queue.work('beep', async () => null)
  const job = await queue.add('email', { to: 'a' })
  expectTypeOf(job).toEqualTypeOf<Job<{ to: string; cc?: string }, { id: number }>>()
  expectTypeOf(job.data).toEqualTypeOf<{ to: string; cc?: string } | undefined>()
  expectTypeOf(await job.result()).toEqualTypeOf<{ id: number }>()
  const [first] = await queue.addMany([
    { name: 'email', data: { to: 'b' } },
    { name: 'beep', data: {} },
  ])
  expectTypeOf(await (first as NonNullable<typeof first>).result()).toEqualTypeOf<{
    id: number
  } | null>()

  // @ts-expect-error: the field is missing
  await queue.add('email', {}).then((wrong) => wrong.cancel())
  // @ts-expect-error: there is no such task
  await queue.add('mail', { to: 'a' }).then((wrong) => wrong.cancel())
  // @ts-expect-error: the wrong result
  await queue.work('email', () => ({ id: 'seven' })).stop()
  // @ts-expect-error: the wrong option
  await expect(queue.add('email', { to: 'a' }, { retries: 3 })).rejects.toThrow('retries')
  await queue.close()
  expect(job.name).toBe('email')
})

it('QUEUE-14: types come from schemas', async () => {
  const tasks = {
    remind: {
      data: z.object({ at: z.string().transform((text) => new Date(text)) }),
      result: z.object({ at: z.number().transform((ms) => new Date(ms)) }),
    },
    plain: {},
  }
  const queue = await openTestQueue({ tasks })
  expectTypeOf(queue).toExtend<TestQueue<typeof tasks>>()
  queue.work('remind', ({ at }) => {
    expectTypeOf(at).toEqualTypeOf<Date>()
    return { at: at.getTime() }
  })
  const job = await queue.add('remind', { at: '2027-01-01T00:00:00Z' })
  expectTypeOf(job.data).toEqualTypeOf<{ at: string } | undefined>()
  const result = await job.result()
  expectTypeOf(result).toEqualTypeOf<{ at: Date }>()
  expect(result).toEqual({ at: new Date('2027-01-01T00:00:00Z') })
  await queue.add('plain', { anything: [1] })
  await queue.close()
})

it('QUEUE-14: without types any data goes', async () => {
  const queue = await openQueue(':memory:')
  queue.work('anything', (data, job) => [data.deep.value, job.name])
  const job = await queue.add('anything', { deep: { value: 1 } })
  expect(await job.result()).toEqual([1, 'anything'])
  await queue.close()
})
