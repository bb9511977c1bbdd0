import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { BookingRules, Seen } from './booking-rules.ts'

export { type Arrival, type Booking, type BookingRules, CALM, type Seen } from './booking-rules.ts'
export { serveBookings } from './booking-server.ts'

export interface BookingProvider {
  readonly url: string
  /** What it saw until now. */
  seen(): Promise<Seen>
  stop(): Promise<void>
}

/** A fake booking site as a real HTTP server in a process of its own; calm where no rule is given. */
export async function startBookingProvider(
  rules: Partial<BookingRules> = {},
): Promise<BookingProvider> {
  const program = fileURLToPath(
    new URL('../../dist/booking-provider/booking-process.js', import.meta.url),
  )
  const child = spawn(process.execPath, [program, JSON.stringify(rules)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [url] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`the booking site ended with ${code} instead of listening`)
    }),
  ])) as [string]
  return {
    url,
    seen: async () => (await (await fetch(`${url}/admin/seen`)).json()) as Seen,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}
