import { eventsNotify } from './events-notify.ts'
import { eventsProgress } from './events-progress.ts'
import { leasesClosed } from './leases-closed.ts'
import { leasesHeld } from './leases-held.ts'
import { leasesLost } from './leases-lost.ts'
import { leasesNotice } from './leases-notice.ts'
import { leasesOffered } from './leases-offered.ts'
import { serverClosing } from './server-closing.ts'

/** Every message that the server sends by itself on a WebSocket. */
export const NOTIFICATIONS = {
  'events.notify': eventsNotify,
  'events.progress': eventsProgress,
  'leases.offered': leasesOffered,
  'leases.held': leasesHeld,
  'leases.lost': leasesLost,
  'leases.notice': leasesNotice,
  'leases.closed': leasesClosed,
  'server.closing': serverClosing,
} as const
export type NotificationName = keyof typeof NOTIFICATIONS
