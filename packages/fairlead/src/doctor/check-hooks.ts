import type { LookupAddress } from 'node:dns'
import { problemList, webhookTask } from '@fairlead/core/internal'
import type { Config } from '../config/load-config.ts'
import { AddressGuard, type AddressRefused } from '../hooks/address-guard.ts'
import { hooksOf, secretProblems, secretsOf } from '../hooks/configured-hooks.ts'
import { HOOK_CALLER, type Hook } from '../hooks/delivery.ts'
import { type Finding, fail, ok, warn } from './check.ts'

/** Can the webhooks sign and reach anything, and does the policy let their deliveries run? Nothing is sent. */
export async function checkHooks(config: Config): Promise<Finding[]> {
  const hooks = hooksOf(config)
  if (hooks.length === 0) return []
  const findings: Finding[] = []
  const secrets = secretProblems(hooks, secretsOf(config))
  if (secrets.length > 0) {
    const advice = 'Give each webhook its secret; until then no server starts.'
    findings.push(fail('webhooks', problemList(secrets), advice))
  }
  findings.push(...(await checkHooksWithoutSecrets(config)))
  if (findings.length > 0) return findings
  const count = hooks.length === 1 ? '1 webhook' : `${hooks.length} webhooks`
  return [ok('webhooks', `${count}: secrets and addresses are in order.`)]
}

/** What is wrong with the webhooks on a machine that need not have their secrets. */
export async function checkHooksWithoutSecrets(config: Config): Promise<Finding[]> {
  const hooks = hooksOf(config)
  if (hooks.length === 0) return []
  const findings: Finding[] = []
  const addresses = (await Promise.all(hooks.map(addressProblem))).filter((text) => text !== null)
  if (addresses.length > 0) {
    const advice = 'Correct the URL, or list the address under allow of this webhook.'
    findings.push(fail('webhooks', problemList(addresses), advice))
  }
  findings.push(...policyProblems(config))
  const clear = hooks.filter(({ url, allow }) => url.startsWith('http:') && allow.length === 0)
  if (clear.length > 0) {
    const text = `Events cross the network in clear text: ${clear.map(({ id }) => id).join(', ')}.`
    findings.push(warn('webhooks', text, 'Use URLs that begin with https://.'))
  }
  return findings
}

/** A host without an address now may have one later, and is tried then. */
async function addressProblem({ id, url, allow }: Hook): Promise<string | null> {
  const guard = new AddressGuard(allow)
  const { hostname } = new URL(url)
  try {
    guard.checkLiteral(hostname)
    if (!hostname.startsWith('[')) await looked(guard, hostname)
    return null
  } catch (error) {
    return `hooks.${id}.url: ${(error as AddressRefused | NodeJS.ErrnoException).message}`
  }
}

function looked(guard: AddressGuard, host: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    guard.lookup(host, { all: true }, (error, addresses: string | LookupAddress[]) => {
      if (error === null) resolve(addresses)
      else reject(error)
    })
  })
}

/** Deliveries are jobs of kind task, and the policy may keep all of them from running. */
function policyProblems({ policy: { registry } }: Config): Finding[] {
  const { requestersAllow, requestersDeny, minStake, attestationRequired } = registry
  const findings: Finding[] = []
  const isDenied = requestersDeny.includes(HOOK_CALLER)
  if (isDenied || requestersAllow?.includes(HOOK_CALLER) === false) {
    const text = `The policy denies the caller of deliveries, ${HOOK_CALLER}.`
    const advice = 'Change registry.requesters_allow or registry.requesters_deny.'
    findings.push(fail('webhooks', text, advice))
  }
  if (minStake.task > 0n) {
    const text = `Deliveries wait until their providers have a stake of ${minStake.task}.`
    const advice = `Give each one: fairlead stake provider:${webhookTask('<id>')} ${minStake.task}`
    findings.push(warn('webhooks', text, advice))
  }
  if (attestationRequired.task) {
    const text = 'Deliveries cannot run where tasks need an attestation.'
    findings.push(fail('webhooks', text, 'Unset registry.attestation_required.task.'))
  }
  return findings
}
