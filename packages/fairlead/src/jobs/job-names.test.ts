import { FairleadError } from '@fairlead/core'
import { expect, it } from 'vitest'
import { JobNames } from './job-names.ts'

type Server = ConstructorParameters<typeof JobNames>[0]

it('asks once for each job, and knows a job that is gone as one without a name', async () => {
  const asked: string[] = []
  const server = {
    call: async (_: string, { task_id_prefix: id }: { task_id_prefix: string }) => {
      asked.push(id)
      return { jobs: id === '0xaa' ? [{ name: 'email' }] : [], cursor: null }
    },
  } as unknown as Server
  const names = new JobNames(server, { isOptional: false })
  expect(await names.of('0xaa')).toBe('email')
  expect(await names.of('0xaa')).toBe('email')
  expect(await names.of('0xbb')).toBeNull()
  expect(await names.of('0xbb')).toBeNull()
  expect(asked).toEqual(['0xaa', '0xbb'])
})

it('leaves names out for a token that may not list jobs, unless they were asked for', async () => {
  const server = {
    call: () => Promise.reject(new FairleadError('Forbidden', 'not for providers')),
  } as unknown as Server
  expect(await new JobNames(server, { isOptional: true }).of('0xaa')).toBeNull()
  await expect(new JobNames(server, { isOptional: false }).of('0xaa')).rejects.toThrow('providers')
})
