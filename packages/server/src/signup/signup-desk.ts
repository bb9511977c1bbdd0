import { randomBytes } from 'node:crypto'
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
  // No entry has an identifier in it; should one ever have, nobody has to know it again.
  readonly pseudonymKey = randomBytes(32)

  constructor(parts: {
    readonly engine: Engine
    readonly meter: SignupMeter
    readonly registrations: Registrations
    readonly serviceName: string
  }) {
    this.engine = parts.engine
    this.meter = parts.meter
    this.registrations = parts.registrations
    this.serviceName = parts.serviceName
  }

  see(event: EngineEvent): void {
    this.meter.see(event)
    this.registrations.see(event)
  }
}
