import { randomBytes } from 'node:crypto'
import { type CborMap, decodeCbor, encodeCbor } from '@fairlead/core'
import { isErased, isUnreadable, pseudonym } from '@fairlead/core/internal'
import type { Engine, EngineEvent } from '@fairlead/engine'
import type { SignupMeter } from '../metrics/signup-meter.ts'
import type { Teller } from './registration-record.ts'
import type { Registrations } from './registrations.ts'

/** What the calls about registrations work with. */
export class SignupDesk implements Teller {
  readonly engine: Engine
  readonly registrations: Registrations
  readonly meter: SignupMeter
  readonly serviceName: string
  readonly platformName: (platform: string) => string
  // No entry has an identifier in it; should one ever have, nobody has to know it again.
  readonly pseudonymKey = randomBytes(32)

  constructor(parts: {
    readonly engine: Engine
    readonly meter: SignupMeter
    readonly registrations: Registrations
    readonly serviceName: string
    readonly platformName: (platform: string) => string
  }) {
    this.engine = parts.engine
    this.meter = parts.meter
    this.registrations = parts.registrations
    this.serviceName = parts.serviceName
    this.platformName = parts.platformName
  }

  /** The payload of a registration for somebody else: where and when, not who. */
  withoutPeople(payload: Uint8Array): Uint8Array {
    if (isErased(payload) || isUnreadable(payload)) return payload
    const { user_id, args: _, ...where } = decodeCbor(payload) as CborMap
    const user = pseudonym(this.pseudonymKey, user_id as string)
    return encodeCbor({ ...where, user_id: user, args: {} })
  }

  see(event: EngineEvent): void {
    this.meter.see(event)
    this.registrations.see(event)
  }
}
