import { createLimiter, memory } from '@fairlead/limiter'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Rig } from './rig.ts'

const START = 1_767_261_600_000
const TPM = 'global:llm:openai:gpt-5.2:tpm'
const LIMIT = { key: TPM, kind: 'rolling', capacity: 100, window_seconds: 60 }

let rig: Rig
beforeEach(async () => {
  const limiter = createLimiter({ backend: memory({ clock: { now: () => START } }), limits: [] })
  rig = await Rig.open({ limiter, limits: { bodyBytes: 100_000 } })
  await rig.json('operator', 'PUT', '/v1/admin/limits', LIMIT)
})
afterEach(() => rig.close())

const one = (lease_id: string, amount: number, key = TPM) => ({
  lease_id,
  requirements: [{ key, amount }],
})
const reserve = (body: unknown) => rig.json('alice', 'POST', '/v1/reserve', body)

describe('limits over HTTP', () => {
  it('HTTP-2: a decision is 200, whatever it is', async () => {
    expect(await reserve(one('a', 80))).toMatchObject({
      status: 200,
      body: {
        allowed: true,
        retry_after_ms: 0,
        reserved_at_unix_ms: START,
        error: null,
        denied_key: null,
      },
    })
    const decisions = [
      [one('b', 30), { allowed: false, retry_after_ms: 60_538, error: null, denied_key: TPM }],
      [one('b', 30), { allowed: false, error: 'lease_already_denied' }],
      [one('a', 70), { allowed: false, error: 'invalid_request' }],
      [one('c', 101), { allowed: false, error: `exceeds_capacity:${TPM}`, denied_key: TPM }],
      [one('c', 1, 'x'), { allowed: false, error: 'unknown_limit_key:x', denied_key: 'x' }],
    ] as const
    for (const [body, answer] of decisions) {
      expect(await reserve(body)).toMatchObject({ status: 200, body: answer })
    }
    const actuals = [{ key: TPM, actual_amount: 10 }]
    for (const lease_id of ['a', 'a', 'never']) {
      const done = await rig.json('alice', 'POST', '/v1/complete', { lease_id, actuals })
      expect(done).toMatchObject({ status: 200, body: { ok: true, error: null } })
    }
    expect(await reserve(one('d', 90))).toMatchObject({ body: { allowed: true } })
  })

  it('HTTP-3: batches of 1 to 256, in order, with an error per item', async () => {
    const batch = (requests: unknown) =>
      rig.json('atlas', 'POST', '/v1/reserve/batch', { requests })
    const requests = [one('a', 60), one('b', 60), {}, one('c', 40)]
    const { status, body } = await batch(requests)
    const { results } = body as { results: { allowed: boolean; error: string | null }[] }
    expect(status).toBe(200)
    expect(results.map(({ allowed, error }) => error ?? allowed)).toEqual([
      true,
      false,
      'invalid_request',
      true,
    ])
    for (const count of [0, 257]) {
      expect((await batch(Array(count).fill(one('z', 1)))).status).toBe(400)
    }
    expect((await batch(Array.from({ length: 256 }, (_, i) => one(`${i}`, 1)))).status).toBe(200)
    const done = await rig.json('atlas', 'POST', '/v1/complete/batch', {
      requests: [{ lease_id: 'a', actuals: [] }, { actuals: [] }, { lease_id: 'c' }],
    })
    expect(done).toMatchObject({
      status: 200,
      body: { results: [{ ok: true }, { ok: false, error: 'invalid_request' }, { ok: true }] },
    })
  })

  it.each([
    ['POST', '/v1/reserve', {}, 'lease_id'],
    ['POST', '/v1/reserve', one('a', -1), 'requirements.0.amount'],
    ['POST', '/v1/reserve', { ...one('a', 1), odd: 1 }, 'odd'],
    ['POST', '/v1/reserve', [one('a', 1)], 'body'],
    ['POST', '/v1/reserve', null, 'body'],
    ['POST', '/v1/reserve', 'text', 'body'],
    ['POST', '/v1/complete', { lease_id: 5 }, 'lease_id'],
    ['POST', '/v1/complete/batch', {}, 'requests'],
    ['PUT', '/v1/admin/limits', { ...LIMIT, capacity: 0 }, 'capacity: '],
    ['PUT', '/v1/admin/limits', { ...LIMIT, window_seconds: 0 }, 'window_seconds: '],
    ['PUT', '/v1/admin/limits', { ...LIMIT, kind: 'fixed' }, 'kind: '],
    ['GET', '/v1/admin/limits?limit=0', undefined, 'limit: '],
    ['GET', '/v1/admin/limits?limit=x', undefined, 'limit: '],
    ['GET', '/v1/admin/limits?odd=1', undefined, 'odd: '],
    ['GET', '/v1/admin/limits/%ff', undefined, 'key: '],
    ['PUT', '/v1/admin/limits', { key: 'k', kind: { toString: 1 }, capacity: 1 }, 'kind'],
  ] as const)('HTTP-2: %s %s with %j is 400', async (method, path, body, field) => {
    const answer = await rig.json('admin', method, path, body)
    expect(answer.status).toBe(400)
    const { error, detail } = answer.body as { error: string; detail: string }
    expect(error).toBe('invalid_request')
    expect(detail).toMatch(new RegExp(`^${field.replaceAll('.', '\\.')}`))
  })

  it('HTTP-2: what is no JSON is 400, no JSON by its type 415, too long 413', async () => {
    const post = (body: string, type = 'application/json') =>
      fetch(`${rig.server.url}/v1/reserve`, {
        method: 'POST',
        headers: { ...rig.authorization('alice'), 'content-type': type },
        body,
      })
    expect((await post('{')).status).toBe(400)
    expect((await post('{"lease_id":"\xff')).status).toBe(400)
    expect((await post('{}', 'text/plain')).status).toBe(415)
    expect((await post(`"${'x'.repeat(100_000)}"`)).status).toBe(413)
  })

  it.each([
    ['/v1/reserve', 'GET', 'POST'],
    ['/v1/complete', 'PUT', 'POST'],
    ['/v1/reserve/batch', 'GET', 'POST'],
    ['/v1/complete/batch', 'DELETE', 'POST'],
    ['/v1/admin/limits', 'POST', 'PUT, GET'],
    [`/v1/admin/limits/${TPM}`, 'PUT', 'GET, DELETE'],
    ['/v1/admin/reset', 'GET', 'POST'],
  ])('HTTP-2: %s by %s is 405', async (path, method, allow) => {
    const response = await fetch(`${rig.server.url}${path}`, {
      method,
      headers: rig.authorization('admin'),
    })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe(allow)
  })

  it('HTTP-4: limits are shown with their state, an unknown one is 404', async () => {
    await reserve(one('a', 80))
    const lower = { ...LIMIT, capacity: 50, timeout_seconds: 0, unit: '', overage: '' }
    const put = await rig.json('operator', 'PUT', '/v1/admin/limits', lower)
    const limit = {
      definition: { ...LIMIT, overage: 'debt' },
      state: 'decreasing',
      pending_decrease_to: 50,
      held: 80,
    }
    expect(put).toMatchObject({ status: 200, body: { limit } })
    const path = '/v1/admin/limits'
    expect(await rig.json('operator', 'GET', `${path}/${TPM}`)).toMatchObject({ body: { limit } })
    await rig.json('operator', 'PUT', path, {
      key: 'a/b c',
      kind: 'concurrency',
      capacity: 1,
      timeout_seconds: 9,
      window_seconds: 0,
    })
    const zeros = { window_seconds: 0, timeout_seconds: 0 }
    const bucket = { key: 'z', kind: 'bucket', burst: 1, rate: 1 }
    expect(await rig.json('operator', 'PUT', path, { ...bucket, ...zeros })).toMatchObject({
      status: 200,
      body: { limit: { definition: bucket, level_micro: 1_000_000 } },
    })
    for (const key of ['a%2Fb%20c', 'a/b%20c']) {
      expect(await rig.json('operator', 'GET', `${path}/${key}`)).toMatchObject({
        body: { limit: { definition: { key: 'a/b c' }, state: 'active' } },
      })
    }
    expect(await rig.json('auditor', 'GET', `${path}?limit=1`)).toMatchObject({
      body: { limits: [{ definition: { key: 'a/b c' } }], cursor: 'a/b c' },
    })
    const rest = await rig.json('operator', 'GET', `${path}?cursor=a%2Fb%20c`)
    expect(rest.body).toMatchObject({ limits: [limit, { definition: bucket }], cursor: null })
    expect(await rig.json('operator', 'GET', `${path}/nothing`)).toMatchObject({
      status: 404,
      body: { error: 'unknown_limit_key:nothing' },
    })
  })

  it('HTTP-1: without a token it is 401, with one of another role 403, and both are noted', async () => {
    const requests = [
      ['POST', '/v1/reserve', one('a', 1)],
      ['POST', '/v1/complete', { lease_id: 'a' }],
      ['POST', '/v1/reserve/batch', { requests: [one('a', 1)] }],
      ['POST', '/v1/complete/batch', { requests: [{ lease_id: 'a' }] }],
      ['PUT', '/v1/admin/limits', LIMIT],
      ['GET', '/v1/admin/limits', undefined],
      ['GET', `/v1/admin/limits/${TPM}`, undefined],
    ] as const
    for (const [method, path, body] of requests) {
      const answer = await rig.json(null, method, path, body)
      expect(answer).toMatchObject({ status: 401, body: { error: 'unauthorized' } })
      expect(answer.headers.get('www-authenticate')).toContain('Bearer')
      const isUse = method === 'POST'
      if (path.endsWith(TPM)) continue
      const other = await rig.json(isUse ? 'auditor' : 'alice', method, path, body)
      expect(other).toMatchObject({ status: 403, body: { error: 'forbidden' } })
    }
    const { entries } = await rig.call('auditor', 'audit.list', {})
    const refused = entries.filter(({ action }) => action === 'accessRefused')
    expect(refused.map(({ subject }) => subject)).toEqual(
      expect.arrayContaining(['authentication', 'limits.define', 'limits.reserve']),
    )
  })

  it('METRICS-1: requests are counted by route and status, reserves by outcome', async () => {
    await reserve(one('a', 1))
    await reserve({})
    await reserve(one('b', 100))
    await reserve(one('c', 1, 'x'))
    await rig.get(`/v1/admin/limits/${TPM}`, 'operator')
    await rig.get('/nothing/of/the/kind')
    const text = await (await rig.get('/metrics', 'operator')).text()
    for (const line of [
      'route="/v1/reserve",code="200"} 3',
      'route="/v1/reserve",code="400"} 1',
      'route="/v1/admin/limits/{key}",code="200"} 1',
      'route="other",code="404"} 1',
    ]) {
      expect(text).toContain(`fairlead_http_requests_total{${line}`)
    }
    expect(text).toContain('fairlead_rpc_requests_total{method="limits.reserve",code="ok"} 3')
    for (const outcome of ['allowed', 'denied', 'refused']) {
      expect(text).toContain(`fairlead_limit_reserves_total{outcome="${outcome}"} 1`)
    }
  })

  it('AUTH-6: a token has so many calls a second here, too', async () => {
    await rig.close()
    rig = await Rig.open({ limits: { requestsPerSecond: 1, requestsBurst: 2 } })
    const statuses: number[] = []
    for (let i = 0; i < 3; i++) statuses.push((await reserve(one(`${i}`, 1))).status)
    expect(statuses).toEqual([200, 200, 429])
    const refused = await reserve(one('x', 1))
    expect(refused.headers.get('retry-after')).toBe('1')
  })
})
