import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { Bench } from './bench.ts'
import { Rig, TASK } from './rig.ts'

interface Sent {
  readonly resourceSpans: {
    readonly scopeSpans: {
      readonly spans: {
        name: string
        traceId: string
        parentSpanId?: string
        status?: { code?: number }
      }[]
    }[]
  }[]
}

it('TRACE-1: spans of calls and jobs reach the endpoint, within the trace that they came with', async () => {
  const sent: Sent[] = []
  const gatherer = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += String(chunk)
    })
    request.on('end', () => {
      if (request.url === '/v1/traces') sent.push(JSON.parse(text) as Sent)
      response.setHeader('content-type', 'application/json').end('{}')
    })
  })
  await new Promise<void>((resolve) => gatherer.listen(0, '127.0.0.1', () => resolve()))
  const { port } = gatherer.address() as AddressInfo
  const rig = await Rig.open({ otlpEndpoint: `http://127.0.0.1:${port}/` })
  const trace = '0af7651916cd43dd8448eb211c80319c'
  const traceparent = `00-${trace}-b7ad6b7169203331-01`
  const bench = await Bench.open(rig)
  const message = { jsonrpc: '2.0', id: 1, method: 'aicf.enqueue', params: TASK }
  const { body } = await rig.post('alice', message, 'json', { traceparent })
  const { task_id } = (body as { result: { task_id: string } }).result
  const lease = await bench.offered(task_id)
  expect(lease.traceparent).toBe(traceparent)
  await bench.call('aicf.ackLease', lease.lease_id)
  await bench.call('aicf.completeLease', lease.lease_id, { output: '0x' })
  await rig.outcome('alice', 'aicf.getJob', { task_id: 'x' })
  await rig.close()
  gatherer.close()

  const spans = sent
    .flatMap(({ resourceSpans }) => resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap((scope) => scope.spans)
  const ofTrace = spans.filter(({ traceId }) => traceId === trace)
  expect(ofTrace.map(({ name }) => name).sort()).toEqual([
    'aicf.enqueue',
    'fairlead.attempt',
    'fairlead.wait',
  ])
  for (const { parentSpanId } of ofTrace) expect(parentSpanId).toBe('b7ad6b7169203331')
  expect(spans.find(({ name }) => name === 'aicf.getJob')?.status?.code).toBe(2)
})

it('TRACE-1: an endpoint that is away holds up nothing', async () => {
  const rig = await Rig.open({ otlpEndpoint: 'http://127.0.0.1:9' })
  expect(await rig.outcome('alice', 'aicf.enqueue', TASK)).toBe('ok')
  await rig.close()
})
