// A fake booking site in a process of its own: rules as JSON in the first argument, its URL on stdout.
import { type BookingRules, CALM } from './booking-rules.ts'
import { serveBookings } from './booking-server.ts'

const rules = { ...CALM, ...(JSON.parse(process.argv[2] ?? '{}') as Partial<BookingRules>) }
const { url } = await serveBookings(rules, Number(process.argv[3] ?? 0))
process.stdout.write(`${url}\n`)
// Whoever started it has gone, in whatever way: nobody is left to ask it anything.
process.stdin.on('end', () => process.exit(0)).resume()
