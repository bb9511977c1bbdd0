import type { Caller } from '@fairlead/core'
import type { KindFairness, TenantFigures } from '@fairlead/engine'
import type { FairnessRecord, TenantRecord } from '@fairlead/protocol'

/** `own`: the only caller whose line is shown; all others are in the rest. */
export function fairnessRecord(
  { kind, mode, index, units, tenants }: KindFairness,
  given: {
    readonly own: Caller | null
    readonly limit: number
    readonly name: (caller: Caller) => string | null
  },
): FairnessRecord {
  const { own, limit, name } = given
  const shown = own === null ? tenants.slice(0, limit) : tenants.filter((one) => one.caller === own)
  const rest = own === null ? tenants.slice(limit) : tenants.filter((one) => one.caller !== own)
  return {
    kind: kind,
    mode,
    index,
    units,
    tenants_total: tenants.length,
    ...countStates(tenants),
    tenants: shown.map((one) => tenantRecord(one, name)),
    rest: rest.length === 0 ? null : restRecord(rest, units),
  }
}

function tenantRecord(
  tenant: TenantFigures,
  name: (caller: Caller) => string | null,
): TenantRecord {
  const { caller, weight, state, hold, ready, units } = tenant
  return {
    caller,
    name: name(caller),
    weight,
    state,
    held_by:
      hold === null
        ? null
        : { reason: hold.reason, check: hold.check, limit: hold.limit?.key ?? null },
    ready,
    units,
    share_ppm: tenant.sharePpm,
    entitled_ppm: tenant.entitledPpm,
    lag_units: tenant.lagUnits,
    bound_units: tenant.boundUnits,
  }
}

function restRecord(rest: readonly TenantFigures[], units: number): FairnessRecord['rest'] {
  const sums = { ready: 0, units: 0, entitled: 0 }
  let lag: number | null = null
  for (const one of rest) {
    sums.ready += one.ready
    sums.units += one.units
    sums.entitled += one.entitledPpm
    if (one.lagUnits !== null) lag = Math.max(lag ?? 0, one.lagUnits)
  }
  return {
    tenants: rest.length,
    ...countStates(rest),
    ready: sums.ready,
    units: sums.units,
    share_ppm: units === 0 ? 0 : Math.min(1_000_000, Math.round((1_000_000 * sums.units) / units)),
    entitled_ppm: Math.min(1_000_000, sums.entitled),
    lag_units: lag,
  }
}

function countStates(tenants: readonly TenantFigures[]) {
  const counts = { owed: 0, limited: 0, no_demand: 0 }
  for (const { state } of tenants) counts[state]++
  return counts
}
