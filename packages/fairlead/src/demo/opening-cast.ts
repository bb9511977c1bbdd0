/** The opening of the demo: many people, few seats, one moment. */
export const OPENING = {
  people: 200,
  seats: 30,
  /** After the start of the demo. */
  opensAfterMs: 20_000,
  session: { provider: 'swimclub', org_ref: 'north', event_id: 'beginners-tue' },
  programName: 'Swimming for beginners',
} as const

/** What the site allows an organisation: everybody is through in about five seconds. */
export const OPENING_POLICY = {
  max_concurrency: 8,
  max_rps: 40,
  burst: 10,
  min_spacing_ms: 10,
  idempotency_key_supported: true,
} as const

/** How the site is spoken to, in the words of a file of booking sites. */
export function openingProviders(siteUrl: string): string {
  return JSON.stringify({
    providers: {
      swimclub: {
        display_name: 'Swim Club',
        profile: {
          booking_model: 'immediate_commit',
          idempotency_key_supported: true,
          idempotency_key_location: 'header',
        },
        adapter: {
          book: { url: `${siteUrl}/bookings`, body: { event: '{event_id}', user: '{user_id}' } },
          answer: { booking_number: 'number', error_code: 'error' },
        },
      },
    },
  })
}
