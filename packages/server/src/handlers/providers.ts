import { FairleadError, fromHex, type ProviderId, type ProviderOffer } from '@fairlead/core'
import { compareAscii, showU64 } from '@fairlead/core/internal'
import type { CheckedParamsOf, ProviderRecord } from '@fairlead/protocol'
import { attestationRecord, providerRecord } from '../records/provider-record.ts'
import { actingAs, type Handlers, providerOf, type Services } from '../rpc/call.ts'

export const registerProvider: Handlers['aicf.registerProvider'] = async (
  params,
  call,
  services,
) => {
  const id = providerOf(call, params.provider_id)
  const publicKey = params.public_key ?? null
  await services.engine.registerProvider(id, offerOf(params), { publicKey }, actingAs(call))
  return { provider: recordOf(id, services) }
}

export const updateProvider: Handlers['aicf.updateProvider'] = async (params, call, services) => {
  const id = providerOf(call, params.provider_id)
  const { public_key: publicKey } = params
  if (publicKey !== undefined && call.identity.role === 'provider') {
    throw new FairleadError(
      'Forbidden',
      'public_key: a key is given at registration, and only an operator replaces it',
      { field: 'public_key' },
    )
  }
  await services.engine.updateProvider(id, offerOf(params), actingAs(call))
  if (publicKey !== undefined) {
    await services.engine.setKey(id, publicKey, actingAs(call))
  }
  return { provider: recordOf(id, services) }
}

export const heartbeat: Handlers['aicf.heartbeat'] = async (params, call, { engine, polls }) => {
  const { worker_id: workerId, slots } = params
  const id = providerOf(call, params.provider_id)
  if (workerId !== undefined) polls.touch(id, workerId)
  if (slots !== undefined) {
    const session = workerId === undefined ? null : call.socket?.session(id, workerId)
    if (session === null || session === undefined) {
      throw new FairleadError(
        'InvalidState',
        'slots: only for a worker_id that this socket has connected by aicf.pollLeases with push',
        { field: 'slots' },
      )
    }
    await session.setSlots(slots)
  }
  await engine.heartbeat(id)
  return { at: engine.view.now }
}

export const listProviders: Handlers['aicf.listProviders'] = (
  { status, cursor, limit = 100 },
  call,
  { engine },
) => {
  const { role, subject } = call.identity
  const { view } = engine
  const { fund } = engine
  const page: ProviderRecord[] = []
  for (const provider of view.providers()) {
    if (cursor !== undefined && compareAscii(provider.id, cursor) <= 0) continue
    if (role === 'provider' && provider.id !== subject) continue
    if (status !== undefined && provider.status !== status) continue
    if (page.length === limit) return { providers: page, cursor: page.at(-1)?.provider_id ?? null }
    page.push(providerRecord(provider, { policy: view.policy, fund }))
  }
  return { providers: page, cursor: null }
}

export const getProvider: Handlers['aicf.getProvider'] = ({ provider_id }, call, services) => ({
  provider: recordOf(
    call.identity.role === 'provider' ? providerOf(call, provider_id) : provider_id,
    services,
  ),
  chain_id: showU64(services.engine.view.policy.chain.id),
})

export const setProviderStatus: Handlers['aicf.setProviderStatus'] = async (
  params,
  call,
  services,
) => {
  const { provider_id: id, status } = params
  await services.engine.setProviderStatus(id, status, actingAs(call))
  return { provider: recordOf(id, services) }
}

export const stake: Handlers['aicf.stake'] = async (params, call, { engine }) => {
  const { provider_id, amount_u64 } = params
  const stake = await engine.stake(provider_id, BigInt(amount_u64), actingAs(call))
  return { provider_id, stake_u64: showU64(stake) }
}

export const unstake: Handlers['aicf.unstake'] = async (params, call, { engine }) => {
  const id = providerOf(call, params.provider_id)
  const amount = BigInt(params.amount_u64)
  const { stake, maturesAt } = await engine.fund.unstake(id, amount, actingAs(call))
  return { provider_id: id, stake_u64: showU64(stake), matures_at: maturesAt }
}

export const getChallenge: Handlers['aicf.getChallenge'] = async (params, call, { engine }) => {
  const id = providerOf(call, params.provider_id)
  const { value, expiresAt } = await engine.fund.getChallenge(id)
  const chain_id = showU64(engine.view.policy.chain.id)
  return { provider_id: id, challenge: value, expires_at: expiresAt, chain_id }
}

export const attest: Handlers['aicf.attest'] = async (params, call, { engine }) => {
  const id = providerOf(call, params.provider_id)
  const attempt = {
    providerId: id,
    className: params.class,
    chain: params.chain.map(bytesOf),
    signature: bytesOf(params.signature),
  }
  const accepted = await engine.fund.attest(attempt, actingAs(call))
  return { provider_id: id, attestation: attestationRecord(accepted) }
}

/** Bytes that the schema has checked. */
function bytesOf(hex: string): Uint8Array {
  return fromHex(hex) as Uint8Array
}

function recordOf(id: ProviderId, { engine }: Services): ProviderRecord {
  const provider = engine.view.provider(id)
  if (provider !== null) {
    return providerRecord(provider, { policy: engine.view.policy, fund: engine.fund })
  }
  throw new FairleadError('NotFound', `there is no provider ${id}`, { providerId: id })
}

type Offered = CheckedParamsOf<'aicf.updateProvider'>

/** What was said of an offer; the rest stays as it is. */
function offerOf(params: Offered): Partial<ProviderOffer> {
  const { kinds, models, platforms, max_depth, max_shots, region } = params
  const { max_width, gates, precision, allow, deny, leases_max } = params
  return {
    ...(kinds === undefined ? {} : { capabilities: new Set(kinds) }),
    ...(models === undefined ? {} : { models: new Set(models) }),
    ...(platforms === undefined ? {} : { platforms: new Set(platforms) }),
    ...(max_depth === undefined ? {} : { maxDepth: max_depth }),
    ...(max_shots === undefined ? {} : { maxShots: max_shots }),
    ...(max_width === undefined ? {} : { maxWidth: max_width }),
    ...(gates === undefined ? {} : { gates: gates === null ? null : new Set(gates) }),
    ...(precision === undefined
      ? {}
      : { precision: precision === null ? null : new Set(precision) }),
    ...(region === undefined ? {} : { region }),
    ...(allow === undefined ? {} : { allow: allow === null ? null : new Set(allow) }),
    ...(deny === undefined ? {} : { deny: new Set(deny) }),
    ...(leases_max === undefined ? {} : { leasesMax: leases_max }),
  }
}
